// Matches values of mini-block pages: values in a range, values whose dictionary item matches, NULLs.
//
// Answers are flags, one byte for each item: 1 stays if the value matches, and becomes 0 otherwise. Chunks without
// flags are not decoded.
#pragma once

#include <optional>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "encodings/pieces.h"
#include "predicates/filter_loops.h"
#include "predicates/passed_rows.h"
#include "system/bits.h"

namespace lance {

// Keys from low to high, both included; 16 bytes each, little endian.
struct KeyRange {
    ValueOrder order;
    Bytes low;
    Bytes high;
    bool inside;  // false: those outside the range match
};

// The loop for a range of keys of at most 64 bits.
struct RangeLoop {
    // Refuses keys of more bits, and a range that ends before it begins.
    RangeLoop(int64_t num_bits, const KeyRange& range);

    void operator()(const uint8_t* values, int64_t num_values, uint8_t* flags) const {
        keep(values, num_values, low, high, inside, flags);
    }

    uint64_t low;
    uint64_t high;
    bool inside;
    KeepRange keep;
};

// NULLs do not match. No definition: there are none.
void match_range(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, const KeyRange& range,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags);

// answers: 0 or 1 for each item of the dictionary
void match_items(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, Bytes answers,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags);

// Clears the flags of adjacent values that are not in the range.
void match_values(Bytes values, int64_t num_bits, const KeyRange& range, MutableBytes flags);

// Clears the flags of adjacent indices whose items have the answer 0.
void match_indices(Bytes indices, int64_t num_bits, Bytes answers, MutableBytes flags);

// As match_range; also writes the values of the items whose flags stay, and returns their number.
int64_t append_matches(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                       const KeyRange& range, const std::optional<LevelEncoding>& definition, MutableBytes flags,
                       MutableBytes out);

void match_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition, bool is_valid,
                    MutableBytes flags);

}  // namespace lance
