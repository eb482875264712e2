// Run-length encoded values: value i repeats lengths[i] (1 byte) times.
#pragma once

#include <algorithm>
#include <array>

#include "system/bytes.h"

namespace lance {

// Runs that are known to give `num_values` values.
struct Runs {
    Runs(Bytes values, Bytes lengths, int64_t width, int64_t num_values) : values(values), lengths(lengths) {
        if (size_of(values) != size_of(lengths) * width) {
            fail(lengths.size(), " runs of ", 8 * width, "-bit values need ", size_of(lengths) * width,
                 " bytes, found ", values.size());
        }
        int64_t sum = 0;
        for (const uint8_t length : lengths) sum += length;
        if (sum != num_values) fail("runs of ", sum, " values in all, not ", num_values);
    }

    Bytes values;
    Bytes lengths;
};

// Decodes ranges of one run-length encoded buffer from its start to its end.
class RunCursor {
  public:
    explicit RunCursor(const Runs& runs) : runs_(runs) {}

    // Values [first, last), where `first` is not before the end of the previous call.
    template <class T>
    void decode(int64_t first, int64_t last, uint8_t* out) {
        while (first < last) {
            const int64_t end = start_ + runs_.lengths[run_];
            if (end <= first) {
                start_ = end;
                ++run_;
                continue;
            }
            const int64_t stop = std::min(end, last);
            const T value = load<T>(runs_.values.data() + run_ * sizeof(T));
            fill(out, value, stop - first, last - first);
            out += (stop - first) * static_cast<int64_t>(sizeof(T));
            first = stop;
        }
    }

  private:
    // `count` times `value`, in steps that may write up to `room` values. Short runs are one step each, so that only
    // the start of the next one depends on their lengths.
    template <class T>
    static void fill(uint8_t* out, T value, int64_t count, int64_t room) {
        constexpr int64_t step = 64 / sizeof(T);
        if ((count + step - 1) / step * step > room) {
            for (int64_t i = 0; i < count; ++i, out += sizeof(T)) store(out, value);
            return;
        }
        std::array<T, step> values;
        values.fill(value);
        int64_t done = 0;
        do {
            store(out, values);
            out += sizeof(values);
            done += step;
        } while (done < count);
    }

    Runs runs_;
    size_t run_ = 0;
    int64_t start_ = 0;
};

// One block: u64 byte length of the run values, the values, their lengths.
template <class T>
void decode_run_block(Bytes block, int64_t num_values, uint8_t* out) {
    if (num_values == 0) return;
    require_input(block, 8, "the run-length block");
    const uint64_t value_bytes = load<uint64_t>(block.data());
    const Bytes rest = block.subspan(8);
    if (value_bytes > rest.size()) fail("run values of ", value_bytes, " bytes in a block of ", rest.size());
    const Runs runs(rest.first(value_bytes), rest.subspan(value_bytes), sizeof(T), num_values);
    RunCursor(runs).decode<T>(0, num_values, out);
}

}  // namespace lance
