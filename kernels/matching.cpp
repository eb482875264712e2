#include "matching.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "bits.h"
#include "kernels.h"
#include "packed_range.h"
#include "pieces.h"

namespace lance {

namespace {

bool any(Bytes flags) { return std::memchr(flags.data(), 1, flags.size()) != nullptr; }

// Drops the flags of NULLs, or of all others.
void keep_valid(const uint8_t* levels, const Piece& piece, bool is_valid, uint8_t* flags) {
    for (int64_t i = 0; i < piece.size(); ++i) {
        flags[i] &= static_cast<uint8_t>((load<uint16_t>(levels + 2 * i) == 0) == is_valid);
    }
}

// Calls keep(values, piece, flags) for each piece that has flags left, and drops NULLs.
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
        keep(values, piece, at);
    });
}

// A bit for each item that has a flag: whether it is not NULL; returns how many are.
int64_t append_bits(const uint8_t* levels, const uint8_t* flags, int64_t count, BitWriter& out) {
    int64_t num_null = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!flags[i]) continue;
        const bool is_valid = load<uint16_t>(levels + 2 * i) == 0;
        out.append(is_valid, 1);
        num_null += !is_valid;
    }
    return num_null;
}

constexpr int64_t kFlagsTogether = 8;

// Collects the items that have a flag. Room for eight items more than are left would let every item be written; the
// last ones are written one by one.
template <class Item>
class Collector {
  public:
    explicit Collector(MutableBytes out) : at_(out.data()), end_(out.data() + out.size()) {}

    int64_t add(const uint8_t* values, const uint8_t* flags, int64_t num_values) {
        uint8_t* const before = at_;
        int64_t i = 0;
        if constexpr (width >= 4) {
            const CompactItems compact = width == 4   ? filter_loops.compact4
                                         : width == 8 ? filter_loops.compact8
                                                      : filter_loops.compact16;
            const Compacted done = compact(values, flags, num_values, at_, (end_ - at_) / width);
            i = done.num_values;
            at_ += done.num_items * width;
        }
        for (; i + kFlagsTogether <= num_values && end_ - at_ >= kFlagsTogether * width; i += kFlagsTogether) {
            const auto together = load<uint64_t>(flags + i);
            if (together == 0) continue;
            for (int64_t k = 0; k < kFlagsTogether; ++k) {
                store(at_, load<Item>(values + (i + k) * width));
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

    void put(Item item) {
        if (end_ - at_ < width) fail("more items have a flag than fit into out");
        store(at_, item);
        at_ += width;
    }

  private:
    static constexpr int64_t width = sizeof(Item);

    uint8_t* at_;
    uint8_t* end_;
};

// Single values that are collected in order, some time after it is known where they are: by then they are on their way
// to the processor, whichever chunks they lie in.
template <class Item, class Place>
class Awaited {
  public:
    explicit Awaited(Collector<Item>& collector) : collector_(collector) {}

    void add(const Place& place) {
        Place& slot = places_[count_ % kMost];
        if (count_ >= kMost) collector_.put(slot.template get<Item>());
        slot = place;
        prefetch(place.at);
        prefetch(place.at + place.next);
        ++count_;
    }

    void finish() {
        for (size_t i = count_ < kMost ? 0 : count_ - kMost; i < count_; ++i) {
            collector_.put(places_[i % kMost].template get<Item>());
        }
        count_ = 0;
    }

  private:
    // Processors wait for no more than some dozens of lines of memory at a time.
    static constexpr size_t kMost = 16;

    Collector<Item>& collector_;
    std::array<Place, kMost> places_;
    size_t count_ = 0;
};

// A value that lies in memory as it is.
struct StoredValue {
    const uint8_t* at;
    static constexpr int64_t next = 0;

    template <class Item>
    Item get() const {
        return load<Item>(at);
    }
};

// The beginnings of so many chunks are on their way, for it says how their values are packed.
constexpr int64_t kChunksAhead = 4;

// Calls visit(piece, first, last) for pieces with items that have passed: which of the places lie in it.
template <class Visit>
void for_each_passed(const Chunks& chunks, const Ranges& ranges, const PassedRows& passed, Visit visit) {
    size_t i = 0;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const int64_t end = piece.position + piece.size();
        const size_t first = i;
        while (i < passed.num_places() && passed.place(i) < end) ++i;
        if (first == i) return;
        chunks.prefetch(piece.chunk + kChunksAhead);
        visit(piece, first, i);
    });
}

// Of so few rows that most chunks have a handful.
template <class Item>
void append_places(Collector<Item>& collector, const Chunks& chunks, const Ranges& ranges, PieceValues& values,
                   PieceLevels* levels, const PassedRows& passed, BitWriter* validity, int64_t& num_null) {
    constexpr bool can_be_packed = sizeof(Item) <= 8;
    Awaited<Item, std::conditional_t<can_be_packed, PackedValue, StoredValue>> packed(collector);
    Awaited<Item, StoredValue> stored(collector);
    for_each_passed(chunks, ranges, passed, [&](const Piece& piece, size_t first, size_t last) {
        const auto for_each_place = [&](auto visit) {
            for (size_t i = first; i < last; ++i) visit(passed.place(i) - piece.position);
        };
        const bool are_few = static_cast<int64_t>(last - first) * kRowsPerPlace < piece.num_items;
        bool is_found = false;
        if constexpr (can_be_packed) {
            is_found = are_few && values.has_places(piece);
            if (is_found) {
                const PackedGroup<Item> group = values.template group<Item>(piece);
                for_each_place([&](int64_t place) { packed.add(group.find(piece.first + place)); });
            }
        }
        if (!is_found) {
            packed.finish();
            const uint8_t* found = values.of(piece);
            for_each_place([&](int64_t place) { stored.add({found + place * static_cast<int64_t>(sizeof(Item))}); });
            // what was decoded goes with the next piece
            if (!values.are_stored()) stored.finish();
        }
        if (levels == nullptr) return;
        const uint8_t* here = levels->of(piece);
        for_each_place([&](int64_t place) {
            const bool is_valid = load<uint16_t>(here + 2 * place) == 0;
            validity->append(is_valid, 1);
            num_null += !is_valid;
        });
    });
    packed.finish();
    stored.finish();
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

// Calls then(Item{}, keep), where keep(values, num_values, flags) clears the flags of values outside of the range.
template <class Then>
void with_range(const FixedWidthEncoding& encoding, const KeyRange& range, Then then) {
    if (encoding.num_bits == 128) {
        if (range.order != ValueOrder::kSigned) fail("values of 128 bits are signed");
        require_input(range.low, 16, "a key");
        require_input(range.high, 16, "a key");
        const auto low = load<Wide>(range.low.data());
        const auto high = load<Wide>(range.high.data());
        if (!at_most(low, high)) fail("a range of keys that ends before it begins");
        then(Wide{}, [&](const uint8_t* values, int64_t num_values, uint8_t* flags) {
            filter_loops.keep_wide_range(values, num_values, low, high, range.inside, flags);
        });
        return;
    }
    const RangeLoop loop(encoding.num_bits, range);
    with_word(encoding.num_bits, [&](auto word) { then(word, loop); });
}

// What is known of the values of a piece without unpacking them.
class GroupAnswers {
  public:
    // chunks: outlive this object
    GroupAnswers(const Chunks& chunks, const FixedWidthEncoding& encoding, const KeyRange& range) : chunks_(chunks) {
        if (encoding.codec != FixedCodec::kInlineBitpacking) return;
        const RangeLoop loop(encoding.num_bits, range);
        packed_.emplace(encoding.num_bits, range.order, loop.low, loop.high, loop.inside);
    }

    std::optional<bool> of(const Piece& piece) const {
        if (!packed_ || piece.num_items > kGroup) return std::nullopt;
        try {
            return packed_->answer(chunks_.values(piece.chunk, 0));
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
    }

  private:
    const Chunks& chunks_;
    std::optional<PackedRange> packed_;
};

}  // namespace

RangeLoop::RangeLoop(int64_t num_bits, const KeyRange& range) : inside(range.inside) {
    with_word(num_bits, [&](auto word) {
        using Word = decltype(word);
        low = word_of<Word>(range.low);
        high = word_of<Word>(range.high);
        keep = filter_loops.keep_range[static_cast<size_t>(range.order)][std::bit_width(sizeof(Word)) - 1];
    });
    if (low > high) fail("a range of keys that ends before it begins");
    if (keep == nullptr) fail("floats of ", num_bits, " bits, not 32 or 64");
}

void match_range(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, const KeyRange& range,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags) {
    const GroupAnswers answers(chunks, encoding, range);
    with_range(encoding, range, [&](auto, auto keep) {
        for_each_match(chunks, ranges, encoding, definition, flags, [&](PieceValues& values, const Piece& piece, uint8_t* at) {
            const std::optional<bool> answer = answers.of(piece);
            if (!answer) {
                keep(values.of(piece), piece.size(), at);
            } else if (!*answer) {
                std::memset(at, 0, static_cast<size_t>(piece.size()));
            }
        });
    });
}

int64_t append_matches(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                       const KeyRange& range, const std::optional<LevelEncoding>& definition, MutableBytes flags,
                       MutableBytes out) {
    const GroupAnswers answers(chunks, encoding, range);
    int64_t num_matches = 0;
    with_range(encoding, range, [&](auto item, auto keep) {
        Collector<decltype(item)> collector(out);
        for_each_match(chunks, ranges, encoding, definition, flags, [&](PieceValues& values, const Piece& piece, uint8_t* at) {
            const std::optional<bool> answer = answers.of(piece);
            if (answer && !*answer) {
                std::memset(at, 0, static_cast<size_t>(piece.size()));
                return;
            }
            const uint8_t* of_piece = values.of(piece);
            if (!answer) keep(of_piece, piece.size(), at);
            num_matches += collector.add(of_piece, at, piece.size());
        });
    });
    return num_matches;
}

void match_items(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, Bytes answers,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags) {
    const std::optional<std::array<uint32_t, 8>> few = bits_of_few(answers);
    with_word(encoding.num_bits, [&](auto word) {
        using Index = decltype(word);
        const KeepItems keep = filter_loops.keep_items[std::bit_width(sizeof(Index)) - 1];
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](PieceValues& decoded, const Piece& piece, uint8_t* at) {
                           const uint8_t* values = decoded.of(piece);
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
                        const std::optional<LevelEncoding>& definition, const PassedRows& passed, MutableBytes out,
                        BitWriter* validity) {
    require_input(passed.flags(), ranges.num_items(), "flags");
    if (definition && !validity) fail("values that may be NULL need a bitmap");
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (definition) levels.emplace(chunks, *definition);
    int64_t num_null = 0;
    with_item(encoding.num_bits, [&](auto item) {
        Collector<decltype(item)> collector(out);
        if (passed.has_places()) {
            append_places(collector, chunks, ranges, values, levels ? &*levels : nullptr, passed, validity, num_null);
            return;
        }
        for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
            const uint8_t* at = passed.flags().data() + piece.position;
            if (!any({at, static_cast<size_t>(piece.size())})) return;
            collector.add(values.of(piece), at, piece.size());
            if (levels) num_null += append_bits(levels->of(piece), at, piece.size(), *validity);
        });
    });
    return passed.count() - num_null;
}

int64_t append_selected_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition,
                                 Bytes flags, BitWriter& out) {
    require_input(flags, ranges.num_items(), "flags");
    PieceLevels levels(chunks, definition);
    int64_t num_null = 0;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const uint8_t* at = flags.data() + piece.position;
        if (any({at, static_cast<size_t>(piece.size())})) num_null += append_bits(levels.of(piece), at, piece.size(), out);
    });
    return count_flags(flags.first(static_cast<size_t>(ranges.num_items()))) - num_null;
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

void match_values(Bytes values, int64_t num_bits, const KeyRange& range, MutableBytes flags) {
    require_input(values, multiply(size_of(flags), bytes_for_bits(num_bits)), "values");
    with_range({0, num_bits}, range, [&](auto, auto keep) { keep(values.data(), size_of(flags), flags.data()); });
}

void match_indices(Bytes indices, int64_t num_bits, Bytes answers, MutableBytes flags) {
    check_indices(indices, num_bits, size_of(flags), size_of(answers));
    const std::optional<std::array<uint32_t, 8>> few = bits_of_few(answers);
    with_word(num_bits, [&](auto word) {
        using Index = decltype(word);
        if (few) {
            filter_loops.keep_items[std::bit_width(sizeof(Index)) - 1](indices.data(), size_of(flags), *few, flags.data());
            return;
        }
        for (size_t i = 0; i < flags.size(); ++i) flags[i] &= answers[load<Index>(indices.data() + i * sizeof(Index))];
    });
}

}  // namespace lance
