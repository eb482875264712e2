// Which of some rows have passed a filter.
#pragma once

#include <span>
#include <vector>

#include "bits.h"
#include "chunks.h"
#include "filter_loops.h"

namespace lance {

// Of few rows the places are known, so that the flags of all others need not be looked at.
class PassedRows {
  public:
    // flags: a byte for each of the rows, 1 for those that have passed; count: how many these are
    // places: where they are, counted from `first` on; empty where that is not known
    PassedRows(Bytes flags, int64_t count, std::span<const int64_t> places = {}, int64_t first = 0)
        : flags_(flags), count_(count), places_(places), first_(first) {}

    Bytes flags() const { return flags_; }
    int64_t count() const { return count_; }
    bool has_places() const { return !places_.empty(); }
    int64_t place(size_t i) const { return places_[i] - first_; }
    size_t num_places() const { return places_.size(); }

  private:
    Bytes flags_;
    int64_t count_;
    std::span<const int64_t> places_;
    int64_t first_;
};

// Of more rows than one in so many the places are not worth knowing.
constexpr int64_t kRowsPerPlace = 24;

// Where the flags are that are set, of which there are `count`.
inline std::vector<int64_t> places_of(Bytes flags, int64_t count) {
    std::vector<int64_t> places(static_cast<size_t>(count));
    if (filter_loops.find_flags(flags.data(), size_of(flags), places.data(), count) != count) fail("fewer flags than ", count);
    return places;
}

// The rows of `rows` that have a flag, as ranges.
inline std::vector<int64_t> flagged_ranges(const Ranges& rows, Bytes flags) {
    std::vector<int64_t> found;
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        const int64_t start = rows.start(i);
        const int64_t count = rows.end(i) - start;
        const uint8_t* at = flags.data() + position;
        int64_t k = 0;
        while (k < count) {
            if (k + 8 <= count && load<uint64_t>(at + k) == 0) {
                k += 8;
                continue;
            }
            if (at[k] == 0) {
                ++k;
                continue;
            }
            const int64_t first = k;
            while (k < count && at[k] != 0) ++k;
            found.insert(found.end(), {start + first, start + k});
        }
        position += count;
    }
    return found;
}

}  // namespace lance
