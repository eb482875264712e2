// Bit-packing of values and levels; see packed.h for the buffers.
#include <bit>

#include "encodings/encode.h"
#include "encodings/pack_group.h"

namespace lance {

namespace {

// The words of chunk i, padded with zeros to a whole group in `group`.
template <class T>
const uint8_t* whole_group(const uint8_t* values, int64_t count, uint8_t* group) {
    if (count == kGroup) return values;
    const int64_t used = count * static_cast<int64_t>(sizeof(T));
    copy(group, values, used);
    std::memset(group + used, 0, static_cast<size_t>(kGroup * sizeof(T)) - static_cast<size_t>(used));
    return group;
}

int64_t group_items(const Starts& starts, int64_t i) {
    const int64_t count = starts[i + 1] - starts[i];
    if (count > kGroup) fail("chunk ", i, " holds ", count, " values, not up to 1024");
    return count;
}

template <class T>
void widths(Bytes values, const Starts& starts, uint8_t* out) {
    alignas(64) uint8_t group[kGroup * sizeof(T)];
    for (int64_t i = 0; i < starts.size(); ++i) {
        const uint8_t* from = values.data() + starts[i] * static_cast<int64_t>(sizeof(T));
        const T seen = any_bits<T>()(whole_group<T>(from, group_items(starts, i), group));
        out[i] = static_cast<uint8_t>(std::bit_width(seen));
    }
}

template <class T>
void pack_chunks(Bytes values, const Starts& starts, const uint8_t* widths, MutableBytes out) {
    alignas(64) uint8_t group[kGroup * sizeof(T)];
    int64_t at = 0;
    for (int64_t i = 0; i < starts.size(); ++i) {
        if (widths[i] > 8 * sizeof(T)) fail("a width of ", int{widths[i]}, " bits in words of ", 8 * sizeof(T));
        const int64_t size = static_cast<int64_t>(sizeof(T)) + 128 * widths[i];
        if (size > size_of(out) - at) fail("out of ", out.size(), " bytes is too short for the groups");
        const uint8_t* from = values.data() + starts[i] * static_cast<int64_t>(sizeof(T));
        store(out.data() + at, static_cast<T>(widths[i]));
        pack_group<T>(widths[i])(whole_group<T>(from, group_items(starts, i), group), out.data() + at + sizeof(T));
        at += size;
    }
}

template <class T>
void pack_blocks(Bytes values, const Starts& starts, int64_t num_bits, const Starts& out_starts, MutableBytes out) {
    constexpr int64_t width = sizeof(T);
    if (num_bits > 8 * width) fail("a width of ", num_bits, " bits in words of ", 8 * width);
    const PackGroup pack = pack_group<T>(num_bits);
    const int64_t group_bytes = 128 * num_bits;
    alignas(64) uint8_t group[kGroup * width];
    for (int64_t i = 0; i < starts.size(); ++i) {
        const int64_t count = starts[i + 1] - starts[i];
        const int64_t tail = count % kGroup;
        const int64_t rest = out_starts[i + 1] - out_starts[i] - count / kGroup * group_bytes;
        const bool raw_tail = rest == tail * width;
        if (!raw_tail && (tail == 0 || rest != group_bytes))
            fail("chunk ", i, " of ", count, " values has no such size");
        const uint8_t* from = values.data() + starts[i] * width;
        uint8_t* to = out.data() + out_starts[i];
        for (int64_t j = 0; j < count / kGroup; ++j, from += kGroup * width, to += group_bytes) pack(from, to);
        if (raw_tail) {
            copy(to, from, tail * width);
        } else {
            pack(whole_group<T>(from, tail, group), to);
        }
    }
}

}  // namespace

void group_widths(Bytes values, int64_t word_bits, int64_t num_values, Bytes item_starts, MutableBytes out) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, word_bits) / 8, "values");
    require_output(out, starts.size());
    with_word(word_bits, [&](auto word) { widths<decltype(word)>(values, starts, out.data()); });
}

void pack_inline(Bytes values, int64_t word_bits, int64_t num_values, Bytes item_starts, Bytes bit_widths,
                 MutableBytes out) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, word_bits) / 8, "values");
    require_input(bit_widths, starts.size(), "widths");
    with_word(word_bits, [&](auto word) { pack_chunks<decltype(word)>(values, starts, bit_widths.data(), out); });
}

void pack(Bytes values, int64_t word_bits, int64_t num_bits, int64_t num_values, Bytes item_starts, Bytes out_starts,
          MutableBytes out) {
    const Starts starts(item_starts, num_values);
    const Starts bytes(out_starts, size_of(out));
    require_input(values, multiply(num_values, word_bits) / 8, "values");
    if (bytes.size() != starts.size()) fail(bytes.size(), " blocks for ", starts.size(), " chunks");
    with_word(word_bits, [&](auto word) { pack_blocks<decltype(word)>(values, starts, num_bits, bytes, out); });
}

}  // namespace lance
