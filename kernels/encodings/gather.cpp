// Items by index: the values of dictionary pages.
#include <algorithm>

#include "encodings/decode.h"
#include "encodings/unpack_group.h"
#include "encodings/variable.h"

namespace lance {

namespace {

// Indices checked together before they are used.
constexpr int64_t kBlock = 1024;

// Items up to this length are copied as this many bytes, if there is room on both sides.
constexpr int64_t kShortItem = 16;

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

    Offset start(int64_t item) const {
        return load<Offset>(offsets.data() + item * static_cast<int64_t>(sizeof(Offset)));
    }
    Offset end(int64_t item) const { return start(item + 1); }
};

// With more indices than items, all items are checked at once; with fewer, those that are used.
template <class Offset>
bool checked_at_once(Bytes item_offsets, int64_t num_items, int64_t num_indices, int64_t num_bytes) {
    require_input(item_offsets, (num_items + 1) * static_cast<int64_t>(sizeof(Offset)), "item_offsets");
    if (num_items > num_indices) return false;
    check_offsets<Offset>(item_offsets, num_items, num_bytes);
    return true;
}

template <class Index, class Offset, class OutOffset>
int64_t offsets_of(Bytes indices, int64_t num_indices, Bytes item_offsets, int64_t num_items, MutableBytes out) {
    constexpr int64_t width = sizeof(OutOffset);
    require_output(out, (num_indices + 1) * width, "out_offsets");
    store<OutOffset>(out.data(), 0);
    const ItemOffsets<Offset> items{item_offsets};
    const bool checked = checked_at_once<Offset>(item_offsets, num_items, num_indices, kMaxCount);
    int64_t total = 0;
    for_each_block<Index>(indices, num_indices, num_items, [&](int64_t first, int64_t last) {
        if (!checked) {
            for (int64_t i = first; i < last; ++i) {
                const auto item = static_cast<int64_t>(index_at<Index>(indices, i));
                if (items.start(item) > items.end(item) || items.end(item) > static_cast<uint64_t>(kMaxCount)) {
                    fail("the offsets of item ", item, " do not rise");
                }
            }
        }
        for (int64_t i = first; i < last; ++i) {
            const auto item = static_cast<int64_t>(index_at<Index>(indices, i));
            total += static_cast<int64_t>(items.end(item) - items.start(item));
            store(out.data() + (i + 1) * width, static_cast<OutOffset>(total));
        }
        require_offset<OutOffset>(total);
    });
    return total;
}

// Items of up to 16 bytes, each in its own slot: short strings are copied without a branch.
class ShortItems {
  public:
    template <class Offset>
    ShortItems(ItemOffsets<Offset> offsets, int64_t num_items, Bytes data)
        : items_(static_cast<size_t>(num_items)), lengths_(static_cast<size_t>(num_items)) {
        for (int64_t i = 0; i < num_items; ++i) {
            const auto length = static_cast<uint8_t>(offsets.end(i) - offsets.start(i));
            copy(reinterpret_cast<uint8_t*>(&items_[i]), data.data() + offsets.start(i), length);
            lengths_[i] = length;
        }
    }

    // Copies items [first, last) of the indices, 16 bytes each; the next copy overwrites the excess.
    template <class Index>
    uint8_t* gather(Bytes indices, int64_t first, int64_t last, uint8_t* to) const {
        for (int64_t i = first; i < last; ++i) {
            const Index index = index_at<Index>(indices, i);
            store(to, items_[index]);
            to += lengths_[index];
        }
        return to;
    }

  private:
    std::vector<Wide> items_;
    std::vector<uint8_t> lengths_;
};

template <class Offset>
bool all_short(ItemOffsets<Offset> offsets, int64_t num_items) {
    Offset longest = 0;
    for (int64_t i = 0; i < num_items; ++i) longest = std::max<Offset>(longest, offsets.end(i) - offsets.start(i));
    return longest <= kShortItem;
}

template <class Index, class Offset>
int64_t bytes_of(Bytes indices, int64_t num_indices, Bytes item_offsets, int64_t num_items, Bytes data,
                 MutableBytes out) {
    const ItemOffsets<Offset> items{item_offsets};
    const bool checked = checked_at_once<Offset>(item_offsets, num_items, num_indices, size_of(data));
    std::optional<ShortItems> short_items;
    if (checked && all_short(items, num_items)) short_items.emplace(items, num_items, data);
    uint8_t* to = out.data();
    uint8_t* const end_of_out = to + out.size();
    for_each_block<Index>(indices, num_indices, num_items, [&](int64_t first, int64_t last) {
        if (short_items && end_of_out - to >= (last - first) * kShortItem) {
            to = short_items->gather<Index>(indices, first, last, to);
            return;
        }
        for (int64_t i = first; i < last; ++i) {
            const auto item = static_cast<int64_t>(index_at<Index>(indices, i));
            const Offset start = items.start(item);
            const Offset end = items.end(item);
            if (start > end || end > data.size()) {
                fail("bytes ", start, " to ", end, " of item ", item, " are not in ", data.size());
            }
            const auto length = static_cast<int64_t>(end - start);
            if (length > end_of_out - to) fail("out of ", out.size(), " bytes is too short for the items");
            const uint8_t* from = data.data() + start;
            if (length <= kShortItem && size_of(data) - static_cast<int64_t>(start) >= kShortItem &&
                end_of_out - to >= kShortItem) {
                store(to, load<Wide>(from));
            } else {
                copy(to, from, length);
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

void scatter_ranges(Bytes data, Bytes starts, Bytes lengths, Bytes out_starts, MutableBytes out) {
    if (starts.size() != lengths.size() || starts.size() != out_starts.size() || starts.size() % 8 != 0) {
        fail("starts, lengths and out_starts are not as many int64 values");
    }
    for (size_t i = 0; i < starts.size(); i += 8) {
        const auto start = load<int64_t>(starts.data() + i);
        const auto length = load<int64_t>(lengths.data() + i);
        const auto to = load<int64_t>(out_starts.data() + i);
        if (start < 0 || length < 0 || start > size_of(data) || length > size_of(data) - start) {
            fail(length, " bytes at ", start, " are not in ", data.size());
        }
        if (to < 0 || to > size_of(out) || length > size_of(out) - to) {
            fail(length, " bytes at ", to, " are not in out of ", out.size());
        }
        copy(out.data() + to, data.data() + start, length);
    }
}

}  // namespace lance
