// Chunks are decoded one by one while flags are left; packed ones only if their bit width does not decide.
#include "predicates/matching.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "encodings/decode.h"
#include "encodings/pieces.h"
#include "predicates/collector.h"
#include "predicates/packed_range.h"
#include "system/bits.h"

namespace lance {

namespace {

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
        if (!has_flags(of_piece)) return;
        if (levels) {
            keep_valid(levels->of(piece), piece, true, at);
            if (!has_flags(of_piece)) return;
        }
        keep(values, piece, at);
    });
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

// Calls then(Item{}, keep), where keep(values, num_values, flags) clears the flags of values outside the range.
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

// Knowledge about the values of a piece without unpacking them.
class GroupAnswers {
  public:
    // chunks: outlive this object
    GroupAnswers(const Chunks& chunks, const FixedWidthEncoding& encoding, const KeyRange& range) : chunks_(chunks) {
        if (encoding.codec != ValueCodec::kInlineBitpacking) return;
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
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](PieceValues& values, const Piece& piece, uint8_t* at) {
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
        for_each_match(chunks, ranges, encoding, definition, flags,
                       [&](PieceValues& values, const Piece& piece, uint8_t* at) {
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

void match_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition, bool is_valid,
                    MutableBytes flags) {
    require_output(flags, ranges.num_items(), "flags");
    PieceLevels levels(chunks, definition);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        uint8_t* at = flags.data() + piece.position;
        if (has_flags({at, static_cast<size_t>(piece.size())})) keep_valid(levels.of(piece), piece, is_valid, at);
    });
}

void match_values(Bytes values, int64_t num_bits, const KeyRange& range, MutableBytes flags) {
    require_input(values, multiply(size_of(flags), bytes_for_bits(num_bits)), "values");
    with_range({ValueCodec::kFlat, num_bits}, range,
               [&](auto, auto keep) { keep(values.data(), size_of(flags), flags.data()); });
}

void match_indices(Bytes indices, int64_t num_bits, Bytes answers, MutableBytes flags) {
    check_indices(indices, num_bits, size_of(flags), size_of(answers));
    const std::optional<std::array<uint32_t, 8>> few = bits_of_few(answers);
    with_word(num_bits, [&](auto word) {
        using Index = decltype(word);
        if (few) {
            filter_loops.keep_items[std::bit_width(sizeof(Index)) - 1](indices.data(), size_of(flags), *few,
                                                                       flags.data());
            return;
        }
        for (size_t i = 0; i < flags.size(); ++i) flags[i] &= answers[load<Index>(indices.data() + i * sizeof(Index))];
    });
}

}  // namespace lance
