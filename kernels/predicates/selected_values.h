// The values of rows of mini-block pages that have passed all tests.
#pragma once

#include <optional>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "encodings/pieces.h"
#include "predicates/passed_rows.h"
#include "system/bits.h"

namespace lance {

// The values of the items that have passed, one after the other; returns how many of them are valid.
//
// validity: gets a bit for each of them, behind those that it has, where there is a definition
int64_t append_selected(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                        const std::optional<LevelEncoding>& definition, const PassedRows& passed, MutableBytes out,
                        BitWriter* validity);

// A bit for each of the items that have a flag: whether it is not NULL; returns how many are not.
int64_t append_selected_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition,
                                 Bytes flags, BitWriter& out);

}  // namespace lance
