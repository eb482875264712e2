// Rows of which the value of one column compares with that of another one.
#pragma once

#include "arrow_abi.h"
#include "column_builder.h"

namespace lance {

// How the values of both columns are ordered; the first three as in ValueOrder.
enum class PairOrder : int { kUnsigned = 0, kSigned = 1, kFloat = 2, kStrings = 3 };

struct PairComparison {
    static constexpr uint8_t kLess = 1;
    static constexpr uint8_t kEqual = 2;
    static constexpr uint8_t kGreater = 4;

    PairOrder order;
    uint8_t accepted;      // which of the three the left value may be
    uint64_t divisor = 0;  // above 0: of a left integer its rest, which has the sign of the value
};

// Refuses columns that do not compare so.
void check_pair(const PairComparison& comparison, const ColumnFormat& left, const ColumnFormat& right);

// Clears the flags of rows that do not compare so; NULLs compare with nothing.
//
// left, right: arrays of the format with a value for each flag that is set
void keep_pairs(const ArrowArray& left, const ArrowArray& right, const ColumnFormat& format,
                const PairComparison& comparison, MutableBytes flags);

}  // namespace lance
