// Run-length encoding; see runs.h for the buffers.
#include <algorithm>

#include "encodings/encode.h"
#include "encodings/unpack_group.h"

namespace lance {

namespace {

constexpr int64_t kMaxRun = 255;

template <class T>
T value(Bytes values, int64_t i) {
    return load<T>(values.data() + i * static_cast<int64_t>(sizeof(T)));
}

// Calls visit(value, length) for each run of values [first, last); no run is longer than the maximum length.
template <class T, class Visit>
void for_each_run(Bytes values, int64_t first, int64_t last, Visit visit) {
    while (first < last) {
        const T current = value<T>(values, first);
        const int64_t most = std::min(last, first + kMaxRun);
        int64_t end = first + 1;
        while (end < most && value<T>(values, end) == current) ++end;
        visit(current, end - first);
        first = end;
    }
}

template <class T>
int64_t changes(Bytes values, int64_t num_values) {
    int64_t total = 0;
    for (int64_t first = 0; first + 1 < num_values;) {
        // short enough for a narrow counter, which makes for wider vectors
        const int64_t last = std::min(num_values - 1, first + 4096);
        uint32_t part = 0;
        for (int64_t i = first; i < last; ++i) part += value<T>(values, i) != value<T>(values, i + 1);
        total += part;
        first = last;
    }
    return total;
}

struct RunWriter {
    uint8_t* values;
    uint8_t* lengths;
    int64_t room;

    template <class T>
    void put(T value, int64_t length) {
        if (--room < 0) fail("more runs than there is room for");
        store(values, value);
        values += sizeof(T);
        *lengths++ = static_cast<uint8_t>(length);
    }
};

}  // namespace

int64_t count_changes(Bytes values, int64_t value_bits, int64_t num_values) {
    require_input(values, multiply(num_values, value_bits) / 8, "values");
    return with_word(value_bits, [&](auto word) { return changes<decltype(word)>(values, num_values); });
}

void count_runs(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, MutableBytes out) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, value_bits) / 8, "values");
    require_output(out, 8 * starts.size());
    with_word(value_bits, [&](auto word) {
        for (int64_t i = 0; i < starts.size(); ++i) {
            int64_t count = 0;
            for_each_run<decltype(word)>(values, starts[i], starts[i + 1], [&](auto, int64_t) { ++count; });
            store(out.data() + 8 * i, count);
        }
    });
}

void encode_runs(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, MutableBytes out_values,
                 MutableBytes out_lengths) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, value_bits) / 8, "values");
    with_word(value_bits, [&](auto word) {
        constexpr int64_t width = sizeof(word);
        const int64_t room = std::min(size_of(out_lengths), size_of(out_values) / width);
        RunWriter out{out_values.data(), out_lengths.data(), room};
        for (int64_t i = 0; i < starts.size(); ++i) {
            for_each_run<decltype(word)>(values, starts[i], starts[i + 1],
                                         [&](auto value, int64_t length) { out.put(value, length); });
        }
    });
}

void encode_run_blocks(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, Bytes run_counts,
                       MutableBytes out) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, value_bits) / 8, "values");
    require_input(run_counts, 8 * starts.size(), "run_counts");
    const int64_t width = value_bits / 8;
    with_word(value_bits, [&](auto word) {
        int64_t at = 0;
        for (int64_t i = 0; i < starts.size(); ++i) {
            const int64_t count = load<int64_t>(run_counts.data() + 8 * i);
            if (count < 0 || count > num_values || 8 + count * (width + 1) > size_of(out) - at) {
                fail("out of ", out.size(), " bytes is too short for the runs");
            }
            uint8_t* block = out.data() + at;
            store(block, count * width);
            RunWriter writer{block + 8, block + 8 + count * width, count};
            for_each_run<decltype(word)>(values, starts[i], starts[i + 1],
                                         [&](auto value, int64_t length) { writer.put(value, length); });
            if (writer.room != 0) fail("chunk ", i, " has fewer runs than ", count);
            at += 8 + count * (width + 1);
        }
    });
}

}  // namespace lance
