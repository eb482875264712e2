// The values of rows of mini-block pages that have passed all tests.
#pragma once

#include <optional>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "encodings/pieces.h"
#include "predicates/passed_rows.h"
#include "system/bits.h"

namespace lance {

// Writes the values of the items that have passed; returns the number of valid ones.
//
// validity: a bit for each is appended if there are definition levels
int64_t append_selected(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                        const std::optional<LevelEncoding>& definition, const PassedRows& passed, MutableBytes out,
                        BitWriter* validity);

// A bit for each of the items that have a flag: whether it is not NULL; returns how many are not.
int64_t append_selected_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition,
                                 Bytes flags, BitWriter& out);

}  // namespace lance
