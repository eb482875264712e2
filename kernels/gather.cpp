// Items by index: the values of dictionary pages.
#include <algorithm>

#include "kernels.h"
#include "unpack_group.h"
#include "variable.h"

namespace lance {

namespace {

// Indices checked together before they are used.
constexpr int64_t kBlock = 1024;

// Items up to this length are copied as this many bytes, where there is room on both sides.
constexpr int64_t kShortItem = 16;

// Items of fewer bytes in all are copied to where a short item may be read beyond its end.
constexpr int64_t kSmallItems = 1 << 16;

// Lengths are cut to this before they are added, so that a sum over a block cannot overflow.
constexpr uint64_t kLongestItem = (uint64_t{1} << 48) - 1;

template <class Index>
Index index_at(Bytes indices, int64_t i) {
    return load<Index>(indices.data() + i * static_cast<int64_t>(sizeof(Index)));
}

template <class Index>
void check_block(Bytes indices, int64_t first, int64_t last, int64_t num_items) {
    // As in rises(): in the lower half of the type, an index is too large if limit - index has the highest bit set.
    const auto half = static_cast<uint64_t>(num_items) <= uint64_t{1} << (8 * sizeof(Index) - 1);
    if (half && num_items > 0) {
        const auto limit = static_cast<Index>(num_items - 1);
        Index seen = 0;
        for (int64_t i = first; i < last; ++i) {
            const Index index = index_at<Index>(indices, i);
            seen |= static_cast<Index>(index | static_cast<Index>(limit - index));
        }
        if (seen >> (8 * sizeof(Index) - 1) == 0) return;
    }
    Index largest = 0;
    for (int64_t i = first; i < last; ++i) largest = std::max(largest, index_at<Index>(indices, i));
    if (first < last && uint64_t{largest} >= static_cast<uint64_t>(num_items)) {
        fail("index ", uint64_t{largest}, " is not among ", num_items, " items");
    }
}

// Calls visit(first, last) for blocks of checked indices.
template <class Index, class Visit>
void for_each_block(Bytes indices, int64_t num_indices, int64_t num_items, Visit visit) {
    require_input(indices, num_indices * static_cast<int64_t>(sizeof(Index)), "indices");
    for (int64_t first = 0; first < num_indices; first += kBlock) {
        const int64_t last = std::min(first + kBlock, num_indices);
        check_block<Index>(indices, first, last, num_items);
        visit(first, last);
    }
}

struct Wide {
    uint64_t words[2];
};

template <class Index, class Item>
void gather_words(Bytes indices, int64_t first, int64_t last, const uint8_t* items, uint8_t* out) {
    constexpr int64_t width = sizeof(Item);
    for (int64_t i = first; i < last; ++i) {
        store(out + i * width, load<Item>(items + static_cast<int64_t>(index_at<Index>(indices, i)) * width));
    }
}

template <class Index>
void gather_items(Bytes indices, int64_t first, int64_t last, const uint8_t* items, int64_t width, uint8_t* out) {
    for (int64_t i = first; i < last; ++i) {
        copy(out + i * width, items + static_cast<int64_t>(index_at<Index>(indices, i)) * width, width);
    }
}

template <class Offset>
struct ItemOffsets {
    Bytes offsets;

    Offset start(int64_t item) const { return load<Offset>(offsets.data() + item * static_cast<int64_t>(sizeof(Offset))); }
    Offset end(int64_t item) const { return start(item + 1); }
};

template <class Index, class Offset, class OutOffset>
int64_t offsets_of(Bytes indices, int64_t num_indices, Bytes item_offsets, int64_t num_items, MutableBytes out) {
    constexpr int64_t width = sizeof(OutOffset);
    require_input(item_offsets, (num_items + 1) * static_cast<int64_t>(sizeof(Offset)), "item_offsets");
    require_output(out, (num_indices + 1) * width, "out_offsets");
    store<OutOffset>(out.data(), 0);
    const ItemOffsets<Offset> items{item_offsets};
    int64_t total = 0;
    for_each_block<Index>(indices, num_indices, num_items, [&](int64_t first, int64_t last) {
        bool rises = true;
        uint64_t longest = 0;
        for (int64_t i = first; i < last; ++i) {
            const auto item = static_cast<int64_t>(index_at<Index>(indices, i));
            const Offset start = items.start(item);
            const Offset end = items.end(item);
            const auto length = static_cast<uint64_t>(end - start);
            rises &= start <= end;
            longest |= length;
            total += static_cast<int64_t>(length & kLongestItem);
            store(out.data() + (i + 1) * width, static_cast<OutOffset>(total));
        }
        if (!rises || longest > kLongestItem) fail("the offsets of the items do not rise");
        require_offset<OutOffset>(total);
    });
    return total;
}

template <class Index, class Offset>
int64_t bytes_of(Bytes indices, int64_t num_indices, Bytes item_offsets, int64_t num_items, Bytes data,
                 MutableBytes out) {
    require_input(item_offsets, (num_items + 1) * static_cast<int64_t>(sizeof(Offset)), "item_offsets");
    const ItemOffsets<Offset> items{item_offsets};
    std::vector<uint8_t> padded;
    int64_t readable = size_of(data);
    const uint8_t* from = data.data();
    if (readable < kSmallItems) {
        padded.resize(static_cast<size_t>(readable + kShortItem));
        copy(padded.data(), from, readable);
        from = padded.data();
        readable += kShortItem;
    }
    const auto num_bytes = static_cast<uint64_t>(size_of(data));
    uint8_t* to = out.data();
    uint8_t* const end_of_out = to + out.size();
    for_each_block<Index>(indices, num_indices, num_items, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            const auto item = static_cast<int64_t>(index_at<Index>(indices, i));
            const Offset start = items.start(item);
            const Offset end = items.end(item);
            if (start > end || end > num_bytes) fail("bytes ", start, " to ", end, " of an item are not in ", num_bytes);
            const auto length = static_cast<int64_t>(end - start);
            const uint8_t* item_bytes = from + start;
            if (length <= kShortItem && readable - static_cast<int64_t>(start) >= kShortItem &&
                end_of_out - to >= kShortItem) {
                store(to, load<Wide>(item_bytes));
            } else {
                if (length > end_of_out - to) fail("out of ", out.size(), " bytes is too short for the items");
                copy(to, item_bytes, length);
            }
            to += length;
        }
    });
    return to - out.data();
}

}  // namespace

void check_indices(Bytes indices, int64_t index_bits, int64_t num_indices, int64_t num_items) {
    with_word(index_bits, [&](auto index) {
        for_each_block<decltype(index)>(indices, num_indices, num_items, [](int64_t, int64_t) {});
    });
}

void gather_fixed(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes items, int64_t num_items, int64_t width,
                  MutableBytes out) {
    require_input(items, multiply(num_items, width), "items");
    require_output(out, multiply(num_indices, width));
    with_word(index_bits, [&](auto index) {
        using Index = decltype(index);
        for_each_block<Index>(indices, num_indices, num_items, [&](int64_t first, int64_t last) {
            switch (width) {
                case 1: gather_words<Index, uint8_t>(indices, first, last, items.data(), out.data()); break;
                case 2: gather_words<Index, uint16_t>(indices, first, last, items.data(), out.data()); break;
                case 4: gather_words<Index, uint32_t>(indices, first, last, items.data(), out.data()); break;
                case 8: gather_words<Index, uint64_t>(indices, first, last, items.data(), out.data()); break;
                case 16: gather_words<Index, Wide>(indices, first, last, items.data(), out.data()); break;
                default: gather_items<Index>(indices, first, last, items.data(), width, out.data());
            }
        });
    });
}

int64_t gather_variable_offsets(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes item_offsets,
                                int64_t item_offset_bits, int64_t num_items, MutableBytes out_offsets,
                                int64_t out_offset_bits) {
    return with_word(index_bits, [&](auto index) {
        return with_offset(item_offset_bits, [&](auto offset) {
            return with_offset(out_offset_bits, [&](auto out_offset) {
                return offsets_of<decltype(index), decltype(offset), decltype(out_offset)>(
                    indices, num_indices, item_offsets, num_items, out_offsets);
            });
        });
    });
}

int64_t gather_variable_bytes(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes item_offsets,
                              int64_t item_offset_bits, int64_t num_items, Bytes data, MutableBytes out) {
    return with_word(index_bits, [&](auto index) {
        return with_offset(item_offset_bits, [&](auto offset) {
            return bytes_of<decltype(index), decltype(offset)>(indices, num_indices, item_offsets, num_items, data,
                                                               out);
        });
    });
}

int64_t gather_ranges(Bytes data, Bytes starts, Bytes lengths, MutableBytes out) {
    if (starts.size() != lengths.size() || starts.size() % 8 != 0) {
        fail("starts of ", starts.size(), " bytes and lengths of ", lengths.size(), " are not as many int64 values");
    }
    int64_t total = 0;
    for (size_t i = 0; i < starts.size(); i += 8) {
        const auto start = load<int64_t>(starts.data() + i);
        const auto length = load<int64_t>(lengths.data() + i);
        if (start < 0 || length < 0 || start > size_of(data) || length > size_of(data) - start) {
            fail(length, " bytes at ", start, " are not in ", data.size());
        }
        if (length > size_of(out) - total) fail("out of ", out.size(), " bytes is too short for the ranges");
        copy(out.data() + total, data.data() + start, length);
        total += length;
    }
    return total;
}

}  // namespace lance
