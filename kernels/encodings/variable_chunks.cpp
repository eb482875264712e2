// Byte strings cut into chunks: offsets and bytes of each; see variable.h for the reading side.
#include <algorithm>
#include <limits>

#include "encodings/encode.h"
#include "encodings/variable.h"

namespace lance {

namespace {

// Offsets that count from the start of the chunk's buffer, the bytes, and zeros up to a whole offset.
template <class Offset>
void write_chunk(const uint8_t* offsets, int64_t num_values, Bytes bytes, uint8_t* out, int64_t size) {
    constexpr int64_t width = sizeof(Offset);
    const int64_t head = (num_values + 1) * width;
    const Offset shift = static_cast<Offset>(head) - load<Offset>(offsets);
    for (int64_t i = 0; i <= num_values; ++i) {
        store(out + i * width, static_cast<Offset>(load<Offset>(offsets + i * width) + shift));
    }
    copy(out + head, bytes.data(), size_of(bytes));
    const int64_t end = head + size_of(bytes);
    if (end < size) std::memset(out + end, 0, static_cast<size_t>(size - end));
}

template <class Offset>
int64_t write_chunks(Bytes offsets, int64_t num_values, Bytes data, const Starts& items, const Starts& bytes,
                     MutableBytes out) {
    constexpr int64_t width = sizeof(Offset);
    check_offsets<Offset>(offsets, num_values, size_of(data));
    if (bytes.size() != items.size()) fail(bytes.size(), " chunks of bytes for ", items.size(), " of items");
    for (int64_t i = 0; i < items.size(); ++i) {
        const uint8_t* from = offsets.data() + items[i] * width;
        const int64_t count = items[i + 1] - items[i];
        const Offset first = load<Offset>(from);
        const Offset last = load<Offset>(from + count * width);
        const Bytes values = data.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
        const int64_t size = bytes[i + 1] - bytes[i];
        const int64_t used = (count + 1) * width + size_of(values);
        if (size != (used + width - 1) / width * width) fail("chunk ", i, " needs ", used, " bytes, found ", size);
        if (static_cast<uint64_t>(used) > std::numeric_limits<Offset>::max()) fail("chunk ", i, " of ", used, " bytes");
        write_chunk<Offset>(from, count, values, out.data() + bytes[i], size);
    }
    return bytes[bytes.size()];
}

}  // namespace

int64_t variable_chunks(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes item_starts,
                        Bytes out_starts, MutableBytes out) {
    const Starts items(item_starts, num_values);
    const Starts bytes(out_starts, size_of(out));
    return with_offset(offset_bits, [&](auto offset) {
        return write_chunks<decltype(offset)>(offsets, num_values, data, items, bytes, out);
    });
}

void check_offsets(Bytes offsets, int64_t offset_bits, int64_t num_values, int64_t num_items) {
    with_offset(offset_bits, [&](auto offset) { check_offsets<decltype(offset)>(offsets, num_values, num_items); });
}

int64_t longest_string(Bytes offsets, int64_t offset_bits, int64_t num_values) {
    return with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_input(offsets, (num_values + 1) * static_cast<int64_t>(sizeof(Offset)), "offsets");
        if (!rises<Offset>(offsets.data(), num_values)) fail("offsets that do not rise");
        Offset longest = 0;
        for (int64_t i = 0; i < num_values; ++i) {
            const uint8_t* at = offsets.data() + i * static_cast<int64_t>(sizeof(Offset));
            longest = std::max<Offset>(longest, load<Offset>(at + sizeof(Offset)) - load<Offset>(at));
        }
        return static_cast<int64_t>(longest);
    });
}

}  // namespace lance
