// The rows that have passed a filter.
#pragma once

#include <span>
#include <vector>

#include "predicates/filter_loops.h"
#include "system/bits.h"

namespace lance {

// For few rows the positions are stored, so that the flags of other rows need not be read.
class PassedRows {
  public:
    // flags: a byte for each of the rows, 1 for those that have passed; count: their number
    // positions: counted from `first` on; empty if unknown
    PassedRows(Bytes flags, int64_t count, std::span<const int64_t> positions = {}, int64_t first = 0)
        : flags_(flags), count_(count), positions_(positions), first_(first) {}

    Bytes flags() const { return flags_; }
    int64_t count() const { return count_; }
    bool has_places() const { return !positions_.empty(); }
    int64_t place(size_t i) const { return positions_[i] - first_; }
    size_t num_places() const { return positions_.size(); }

  private:
    Bytes flags_;
    int64_t count_;
    std::span<const int64_t> positions_;
    int64_t first_;
};

// If more than one row in this many passed, positions are not stored.
constexpr int64_t kRowsPerPlace = 24;

// Positions of the `count` set flags.
inline std::vector<int64_t> places_of(Bytes flags, int64_t count) {
    std::vector<int64_t> result(static_cast<size_t>(count));
    if (filter_loops.find_flags(flags.data(), size_of(flags), result.data(), count) != count)
        fail("fewer flags than ", count);
    return result;
}

}  // namespace lance
