// Strings of a batch are numbered by their hashes.
#include "stream/string_items.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "arrow/arrow_node.h"
#include "arrow/column_builder.h"
#include "encodings/encode.h"
#include "encodings/variable.h"

namespace lance {

namespace {

// A larger dictionary costs a consumer more per batch than it saves.
constexpr int64_t kMostItems = 1 << 16;

// Strings of at most one byte always have the same items: the characters of ASCII, and the empty string.
constexpr int32_t kEmpty = 128;

struct Strings {
    Bytes offsets;
    int64_t offset_bits;
    Bytes data;
    int64_t count;
};

// Bits that any of the lengths or bytes has are set together: vectors of any processor.
template <class Offset>
bool are_characters(const Offset* offsets, const Strings& strings) {
    Offset lengths = 0;
    for (int64_t i = 0; i < strings.count; ++i) lengths |= offsets[i + 1] - offsets[i];
    if (lengths > 1) return false;
    uint8_t bytes = 0;
    for (const uint8_t byte : strings.data) bytes |= byte;
    return bytes < kEmpty;
}

template <class Offset>
void add_characters(ColumnBuilder& items) {
    for (int32_t item = 0; item <= kEmpty; ++item) {
        items.bytes(1)[0] = static_cast<uint8_t>(item);
        items.add_bytes(item == kEmpty ? 0 : 1);
        store(items.offsets(1).data() + sizeof(Offset), static_cast<Offset>(items.num_bytes()));
        items.add_valid(1);
    }
}

// Numbers strings of at most one character of ASCII; false if there are others.
template <class Offset>
bool number_characters(const Strings& strings, int32_t* indices, ColumnBuilder& items) {
    const auto* offsets = reinterpret_cast<const Offset*>(strings.offsets.data());
    if (!are_characters(offsets, strings)) return false;
    add_characters<Offset>(items);
    const auto total = size_of(strings.data);
    if (total == strings.count) {
        std::copy(strings.data.begin(), strings.data.end(), indices);
    } else if (total == 0) {
        std::fill_n(indices, strings.count, kEmpty);
    } else {
        for (int64_t i = 0; i < strings.count; ++i) {
            const uint8_t byte =
                strings.data[static_cast<size_t>(std::min<Offset>(offsets[i], static_cast<Offset>(total - 1)))];
            indices[i] = offsets[i + 1] == offsets[i] ? kEmpty : byte;
        }
    }
    return true;
}

// Numbers strings of any length; false if too many of them are distinct.
template <class Offset>
bool number_distinct(const Strings& strings, int32_t* indices, ColumnBuilder& items) {
    const PooledBuffer firsts(kMostItems * 8);
    const MutableBytes numbers(reinterpret_cast<uint8_t*>(indices), static_cast<size_t>(4 * strings.count));
    const int64_t num_items = number_strings(strings.offsets, strings.offset_bits, strings.count, strings.data, numbers,
                                             {firsts.data(), static_cast<size_t>(kMostItems * 8)});
    for (int64_t item = 0; item < num_items; ++item) {
        const auto first = load<int64_t>(firsts.data() + 8 * item);
        const auto start = load<Offset>(strings.offsets.data() + first * static_cast<int64_t>(sizeof(Offset)));
        const auto end = load<Offset>(strings.offsets.data() + (first + 1) * static_cast<int64_t>(sizeof(Offset)));
        const int64_t length = static_cast<int64_t>(end) - static_cast<int64_t>(start);
        copy(items.bytes(length).data(), strings.data.data() + start, length);
        items.add_bytes(length);
        store(items.offsets(1).data() + sizeof(Offset), static_cast<Offset>(items.num_bytes()));
        items.add_valid(1);
    }
    return num_items >= 0;
}

}  // namespace

void number_items(ArrowArray& array, int64_t offset_bits) {
    const int64_t count = array.length;
    const auto* offsets = static_cast<const uint8_t*>(array.buffers[1]);
    const auto* data = static_cast<const uint8_t*>(array.buffers[2]);
    const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
    auto dictionary = std::make_unique<ArrowArray>();
    HeldArrays made(2);  // items, if they are not the strings themselves, and indices
    ColumnBuilder indices({false, 32}, count);
    const MutableBytes values = indices.values(count);
    auto* numbers = reinterpret_cast<int32_t*>(values.data());
    with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        const auto total = static_cast<size_t>(load<Offset>(offsets + count * static_cast<int64_t>(sizeof(Offset))));
        const Strings strings{
            {offsets, static_cast<size_t>(count + 1) * sizeof(Offset)}, offset_bits, {data, total}, count};
        ColumnBuilder items({true, offset_bits}, std::clamp<int64_t>(count, kEmpty + 1, kMostItems));
        if (number_characters<Offset>(strings, numbers, items) || number_distinct<Offset>(strings, numbers, items)) {
            items.finish(made.arrays[0]);
        } else {
            std::iota(numbers, numbers + count, 0);
        }
    });
    if (array.null_count > 0) indices.expect_validity(validity);
    indices.add_valid(count);
    indices.finish(made.arrays[1]);
    if (made.arrays[0].release == nullptr) {
        *dictionary = array;
    } else {
        *dictionary = std::exchange(made.arrays[0], ArrowArray{});
        array.release(&array);
    }
    array = std::exchange(made.arrays[1], ArrowArray{});
    array.dictionary = dictionary.release();
}

}  // namespace lance
