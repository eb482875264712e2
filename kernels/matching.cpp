#include "matching.h"

#include <algorithm>
#include <array>
#include <bit>

#include "bits.h"
#include "kernels.h"
#include "pieces.h"

namespace lance {

namespace {

struct Wide {
    uint64_t low;
    uint64_t high;
};

bool any(Bytes flags) { return std::memchr(flags.data(), 1, flags.size()) != nullptr; }

// Drops the flags of NULLs, or of all others.
void keep_valid(const uint8_t* levels, const Piece& piece, bool is_valid, uint8_t* flags) {
    for (int64_t i = 0; i < piece.size(); ++i) {
        flags[i] &= static_cast<uint8_t>((load<uint16_t>(levels + 2 * i) == 0) == is_valid);
    }
}

// Calls keep(values, num_values, flags) for the values of each piece that has flags left, and drops NULLs.
template <class Keep>
void for_each_match(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                    const std::optional<LevelEncoding>& definition, MutableBytes flags, Keep keep) {
    require_output(flags, ranges.num_items(), "flags");
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (definition) levels.emplace(chunks, *definition);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        uint8_t* at = flags.data() + piece.position;
        const Bytes of_piece(at, static_cast<size_t>(piece.size()));
        if (!any(of_piece)) return;
        if (levels) {
            keep_valid(levels->of(piece), piece, true, at);
            if (!any(of_piece)) return;
        }
        keep(values.of(piece), piece, at);
    });
}

constexpr uint64_t kAllFlags = 0x0101010101010101;
constexpr int64_t kFlagsTogether = 8;
// So few items are found one by one; of more, all are written without a branch.
constexpr int64_t kFewFlags = 3;

// Collects the items that have a flag. Room for eight items more than are left would let every item be written; the
// last ones are written one by one.
template <class Item>
class Collector {
  public:
    explicit Collector(MutableBytes out) : at_(out.data()), end_(out.data() + out.size()) {}

    int64_t add(const uint8_t* values, const uint8_t* flags, int64_t num_values) {
        uint8_t* const before = at_;
        int64_t i = 0;
        if constexpr (width == 4 || width == 8) {
            const CompactItems compact = width == 4 ? filter_loops.compact4 : filter_loops.compact8;
            const Compacted done = compact(values, flags, num_values, at_, (end_ - at_) / width);
            i = done.num_values;
            at_ += done.num_items * width;
        }
        for (; i + kFlagsTogether <= num_values; i += kFlagsTogether) {
            const auto together = load<uint64_t>(flags + i);
            if (together == 0) continue;
            if (end_ - at_ < kFlagsTogether * width) break;
            const uint8_t* from = values + i * width;
            if (together == kAllFlags) {
                std::memcpy(at_, from, static_cast<size_t>(kFlagsTogether * width));
                at_ += kFlagsTogether * width;
                continue;
            }
            if (count_ones(together) <= kFewFlags) {
                for (uint64_t rest = together; rest != 0; rest &= rest - 1) {
                    store(at_, load<Item>(from + std::countr_zero(rest) / 8 * width));
                    at_ += width;
                }
                continue;
            }
            for (int64_t k = 0; k < kFlagsTogether; ++k) {
                store(at_, load<Item>(from + k * width));
                at_ += (together >> (8 * k) & 1) * width;
            }
        }
        for (; i < num_values; ++i) {
            if (!flags[i]) continue;
            if (end_ - at_ < width) fail("more items have a flag than fit into out");
            store(at_, load<Item>(values + i * width));
            at_ += width;
        }
        return (at_ - before) / width;
    }

    // The same for few items, which value_at(i) finds one by one.
    template <class ValueAt>
    int64_t find(const uint8_t* flags, int64_t num_values, ValueAt value_at) {
        // Where they are comes first, so that the processor waits for many of them at a time.
        std::array<int16_t, kGroup> places;
        size_t count = 0;
        int64_t i = 0;
        for (; i + kFlagsTogether <= num_values; i += kFlagsTogether) {
            for (auto rest = load<uint64_t>(flags + i); rest != 0; rest &= rest - 1) {
                places[count++] = static_cast<int16_t>(i + std::countr_zero(rest) / 8);
            }
        }
        for (; i < num_values; ++i) {
            if (flags[i]) places[count++] = static_cast<int16_t>(i);
        }
        if (end_ - at_ < static_cast<int64_t>(count) * width) fail("more items have a flag than fit into out");
        for (size_t k = 0; k < count; ++k, at_ += width) store(at_, static_cast<Item>(value_at(places[k])));
        return static_cast<int64_t>(count);
    }

  private:
    static constexpr int64_t width = sizeof(Item);

    uint8_t* at_;
    uint8_t* end_;
};

// So few of the values of a chunk are found in their places faster than all of them are unpacked.
constexpr int64_t kValuesPerFound = 24;
constexpr int64_t kFewestBits = 12;

template <class Item>
int64_t collect(Collector<Item>& collector, PieceValues& values, const Piece& piece, const uint8_t* flags) {
    if constexpr (sizeof(Item) <= 8) {
        if (values.has_places(piece)) {
            const int64_t count = count_flags({flags, static_cast<size_t>(piece.size())});
            if (count * kValuesPerFound < piece.num_items) {
                const PackedGroup<Item> group = values.template group<Item>(piece);
                if (group.num_bits() >= kFewestBits) return collector.find(flags, piece.size(), [&](int64_t i) { return group.at(piece.first + i); });
            }
        }
    }
    return collector.add(values.of(piece), flags, piece.size());
}

// Calls visit(Item{}) with a type of that many bits.
template <class Visit>
void with_item(int64_t num_bits, Visit visit) {
    if (num_bits == 128) {
        visit(Wide{});
    } else {
        with_word(num_bits, visit);
    }
}

template <class Word>
Word word_of(Bytes key) {
    require_input(key, 16, "a key");
    for (size_t i = sizeof(Word); i < 16; ++i) {
        if (key[i] != 0) fail("a key of more than ", 8 * sizeof(Word), " bits");
    }
    return load<Word>(key.data());
}

// The answers for so few items that they fit one register.
std::optional<std::array<uint32_t, 8>> bits_of_few(Bytes answers) {
    std::array<uint32_t, 8> bits{};
    if (answers.size() > 32 * bits.size()) return std::nullopt;
    for (size_t i = 0; i < answers.size(); ++i) bits[i / 32] |= static_cast<uint32_t>(answers[i] != 0) << (i % 32);
    return bits;
}

bool at_most(Wide a, Wide b) { return a.high < b.high || (a.high == b.high && a.low <= b.low); }

void keep_wide_range(const uint8_t* values, int64_t num_values, Wide low, Wide high, bool inside, uint8_t* flags) {
    for (int64_t i = 0; i < num_values; ++i) {
        auto key = load<Wide>(values + 16 * i);
        key.high ^= uint64_t{1} << 63;
        flags[i] &= static_cast<uint8_t>((at_most(low, key) && at_most(key, high)) == inside);
    }
}

}  // namespace

void match_range(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, const KeyRange& range,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags) {
    if (encoding.num_bits == 128) {
        if (range.order != ValueOrder::kSigned) fail("values of 128 bits are signed");
        require_input(range.low, 16, "a key");
        require_input(range.high, 16, "a key");
        const auto low = load<Wide>(range.low.data());
        const auto high = load<Wide>(range.high.data());
        if (!at_most(low, high)) fail("a range of keys that ends before it begins");
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](const uint8_t* values, const Piece& piece, uint8_t* at) {
                           keep_wide_range(values, piece.size(), low, high, range.inside, at);
                       });
        return;
    }
    with_word(encoding.num_bits, [&](auto word) {
        using Word = decltype(word);
        const Word low = word_of<Word>(range.low);
        const Word high = word_of<Word>(range.high);
        if (low > high) fail("a range of keys that ends before it begins");
        const KeepRange keep = filter_loops.keep_range[static_cast<size_t>(range.order)][std::bit_width(sizeof(Word)) - 1];
        if (keep == nullptr) fail("floats of ", encoding.num_bits, " bits, not 32 or 64");
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](const uint8_t* values, const Piece& piece, uint8_t* at) {
                           keep(values, piece.size(), low, high, range.inside, at);
                       });
    });
}

void match_items(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, Bytes answers,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags) {
    const std::optional<std::array<uint32_t, 8>> few = bits_of_few(answers);
    with_word(encoding.num_bits, [&](auto word) {
        using Index = decltype(word);
        const KeepItems keep = filter_loops.keep_items[std::bit_width(sizeof(Index)) - 1];
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](const uint8_t* values, const Piece& piece, uint8_t* at) {
                           check_indices({values, static_cast<size_t>(piece.size()) * sizeof(Index)}, encoding.num_bits,
                                         piece.size(), size_of(answers));
                           if (few) {
                               keep(values, piece.size(), *few, at);
                               return;
                           }
                           for (int64_t i = 0; i < piece.size(); ++i) {
                               const Index index = load<Index>(values + i * static_cast<int64_t>(sizeof(Index)));
                               at[i] &= answers[index];
                           }
                       });
    });
}

int64_t append_selected(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                        const std::optional<LevelEncoding>& definition, Bytes flags, MutableBytes out,
                        BitWriter* validity) {
    require_input(flags, ranges.num_items(), "flags");
    if (definition && !validity) fail("values that may be NULL need a bitmap");
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (definition) levels.emplace(chunks, *definition);
    int64_t num_selected = 0;
    int64_t num_null = 0;
    with_item(encoding.num_bits, [&](auto item) {
        Collector<decltype(item)> collector(out);
        for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
            const uint8_t* at = flags.data() + piece.position;
            if (!any({at, static_cast<size_t>(piece.size())})) return;
            num_selected += collect(collector, values, piece, at);
            if (!levels) return;
            const uint8_t* here = levels->of(piece);
            for (int64_t i = 0; i < piece.size(); ++i) {
                if (!at[i]) continue;
                const bool is_valid = load<uint16_t>(here + 2 * i) == 0;
                validity->append(is_valid, 1);
                num_null += !is_valid;
            }
        });
    });
    return num_selected - num_null;
}

void match_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition, bool is_valid,
                    MutableBytes flags) {
    require_output(flags, ranges.num_items(), "flags");
    PieceLevels levels(chunks, definition);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        uint8_t* at = flags.data() + piece.position;
        if (any({at, static_cast<size_t>(piece.size())})) keep_valid(levels.of(piece), piece, is_valid, at);
    });
}

}  // namespace lance
