// Which values of mini-block pages match: those in a range, those whose dictionary item does, those that are NULL.
//
// Answers are flags, one byte for each item: 1 stays where the value matches, and becomes 0 elsewhere. Chunks of which
// no flag is left are not decoded.
#pragma once

#include <optional>

#include "bits.h"
#include "chunks.h"
#include "filter_loops.h"
#include "levels.h"
#include "pieces.h"

namespace lance {

// Keys from low to high, both included; 16 bytes each, little endian.
struct KeyRange {
    ValueOrder order;
    Bytes low;
    Bytes high;
    bool inside;  // false: those outside of the range match
};

// NULLs do not match. No definition: there are none.
void match_range(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, const KeyRange& range,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags);

// answers: 0 or 1 for each item of the dictionary
void match_items(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding, Bytes answers,
                 const std::optional<LevelEncoding>& definition, MutableBytes flags);

// The values of the items that have a flag, one after the other; returns how many of them are valid.
//
// validity: gets a bit for each of them, behind those that it has, where there is a definition
int64_t append_selected(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                        const std::optional<LevelEncoding>& definition, Bytes flags, MutableBytes out,
                        BitWriter* validity);

void match_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition, bool is_valid,
                    MutableBytes flags);

}  // namespace lance
