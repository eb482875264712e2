// Rows that have passed a filter, as ranges.
#pragma once

#include <algorithm>
#include <vector>

#include "encodings/chunks.h"

namespace lance {

// If rows pass in runs shorter than this on average, and more than one in this many passes, all are decoded.
inline constexpr int64_t kRowsPerRun = 8;

// Calls visit(start, end) for each run of flags that are set.
template <class Visit>
void for_each_flagged_run(Bytes flags, Visit visit) {
    constexpr uint64_t all = 0x0101010101010101;
    const int64_t count = size_of(flags);
    const auto skip = [&](int64_t i, uint8_t flag) {
        const uint64_t together = flag * all;
        while (i + 8 <= count && load<uint64_t>(flags.data() + i) == together) i += 8;
        while (i < count && (flags[static_cast<size_t>(i)] != 0) == (flag != 0)) ++i;
        return i;
    };
    for (int64_t start = skip(0, 0); start < count;) {
        const int64_t end = skip(start, 1);
        visit(start, end);
        start = skip(end, 0);
    }
}

// The rows of `rows` that have a flag, as ranges.
inline std::vector<int64_t> flagged_ranges(const Ranges& rows, Bytes flags) {
    std::vector<int64_t> runs;
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        const int64_t first = rows.start(i);
        const int64_t count = rows.end(i) - first;
        for_each_flagged_run(
            flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count)),
            [&](int64_t start, int64_t end) { runs.insert(runs.end(), {first + start, first + end}); });
        position += count;
    }
    return runs;
}

inline int64_t count_runs(Bytes flags) {
    if (flags.empty()) return 0;
    // Few enough for a byte to count them, so that the loop is vectorized.
    constexpr size_t most = 255;
    int64_t runs = flags[0];
    for (size_t start = 1; start < flags.size(); start += most) {
        const size_t end = std::min(start + most, flags.size());
        uint8_t begun = 0;
        for (size_t i = start; i < end; ++i) begun = static_cast<uint8_t>(begun + (flags[i] & (flags[i - 1] ^ 1)));
        runs += begun;
    }
    return runs;
}

}  // namespace lance
