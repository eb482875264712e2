// Rows of which the value of one column compares with that of another one.
#pragma once

#include <optional>

#include "arrow/arrow_abi.h"
#include "arrow/column_builder.h"
#include "predicates/filter_loops.h"

namespace lance {

// Accepted orders of the left value; a bit for each.
enum class Outcome : uint8_t { kLess = 1, kEqual = 2, kGreater = 4 };

struct PairComparison {
    static constexpr uint8_t kAllOutcomes = 7;

    std::optional<ValueOrder> order;  // of both columns; none: that of the bytes of strings
    uint8_t accepted;                 // outcomes
    uint64_t divisor = 0;             // above 0: of a left integer its rest, which has the sign of the value
};

// Refuses columns that do not compare so.
void check_pair(const PairComparison& comparison, const ColumnFormat& left, const ColumnFormat& right);

// Clears the flags of rows that do not compare so; NULLs compare with nothing.
//
// left, right: arrays of the format with a value for each flag that is set
void keep_pairs(const ArrowArray& left, const ArrowArray& right, const ColumnFormat& format,
                const PairComparison& comparison, MutableBytes flags);

}  // namespace lance
