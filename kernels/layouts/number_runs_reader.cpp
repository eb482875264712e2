// Finds the run of a row, and the rows whose numbers are in a range.
#include "layouts/number_runs_reader.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "predicates/collector.h"

namespace lance {

namespace {

// Numbers that are made together, and stay in a cache until they are tested or collected.
constexpr int64_t kBlock = 1024;

template <class Number>
std::vector<Number> numbers_of(Bytes bytes) {
    if (bytes.size() % sizeof(Number) != 0) fail("64-bit numbers in ", bytes.size(), " bytes");
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    copy(reinterpret_cast<uint8_t*>(numbers.data()), bytes.data(), size_of(bytes));
    return numbers;
}

}  // namespace

NumberRunsReader::NumberRunsReader(int64_t num_rows, Bytes starts, Bytes values, int64_t step)
    : num_rows_(num_rows),
      starts_(numbers_of<int64_t>(starts)),
      values_(numbers_of<uint64_t>(values)),
      step_(static_cast<uint64_t>(step)) {
    if (step > 1) fail("a step of ", step, " is not 0 or 1");
    if (starts_.size() != values_.size()) fail(starts_.size(), " runs with ", values_.size(), " numbers");
    if (starts_.empty() ? num_rows > 0 : starts_.front() != 0 || starts_.back() >= num_rows) {
        fail("runs that are not those of ", num_rows, " rows");
    }
    if (std::ranges::adjacent_find(starts_, std::greater_equal<>()) != starts_.end()) fail("runs that do not ascend");
}

size_t NumberRunsReader::run_of(int64_t row) const {
    return static_cast<size_t>(std::ranges::upper_bound(starts_, row) - starts_.begin()) - 1;
}

void NumberRunsReader::fill(int64_t first, int64_t end, uint64_t* out) const {
    for (size_t run = run_of(first); first < end; ++run) {
        const int64_t stop = run + 1 < starts_.size() ? std::min(end, starts_[run + 1]) : end;
        const uint64_t number = values_[run] + step_ * static_cast<uint64_t>(first - starts_[run]);
        if (step_ == 0) {
            out = std::fill_n(out, stop - first, number);
        } else {
            std::iota(out, out + (stop - first), number);
            out += stop - first;
        }
        first = stop;
    }
}

// Calls visit(numbers, count, position) for the rows, some at a time; position: of the first among all of them.
template <class Visit>
void NumberRunsReader::for_each_block(const Ranges& rows, Visit visit) const {
    std::array<uint64_t, kBlock> block;
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t row = rows.start(i); row < rows.end(i); row += kBlock) {
            const int64_t count = std::min(kBlock, rows.end(i) - row);
            fill(row, row + count, block.data());
            visit(Bytes(reinterpret_cast<const uint8_t*>(block.data()), static_cast<size_t>(8 * count)), count,
                  position);
            position += count;
        }
    }
}

// Calls visit(number) for the rows that have passed, of which the places are known.
template <class Visit>
void NumberRunsReader::for_each_place(const Ranges& rows, const PassedRows& passed, Visit visit) const {
    size_t index = 0;
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        const int64_t end = position + (rows.end(i) - rows.start(i));
        size_t run = 0;
        for (bool is_first = true; index < passed.num_places() && passed.place(index) < end; ++index) {
            const int64_t row = rows.start(i) + (passed.place(index) - position);
            if (is_first) run = run_of(row);
            is_first = false;
            while (run + 1 < starts_.size() && starts_[run + 1] <= row) ++run;
            visit(values_[run] + step_ * static_cast<uint64_t>(row - starts_[run]));
        }
        position = end;
    }
}

void NumberRunsReader::read(const PageBytes&, const Ranges& rows, ColumnBuilder& out) const {
    auto* to = reinterpret_cast<uint64_t*>(out.values(rows.num_items()).data());
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows.start(i) == rows.end(i)) continue;
        fill(rows.start(i), rows.end(i), to);
        to += rows.end(i) - rows.start(i);
    }
    out.add_valid(rows.num_items());
}

void NumberRunsReader::mask(const PageBytes&, const Ranges& rows, const PageTest& test, MutableBytes flags) const {
    require_output(flags, rows.num_items(), "flags");
    const auto* range = std::get_if<RangeTest>(&test);
    if (range == nullptr) fail("numbers of rows are tested for a range");
    for_each_block(rows, [&](Bytes numbers, int64_t count, int64_t position) {
        match_values(numbers, 64, range->keys,
                     flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count)));
    });
}

void NumberRunsReader::take(const PageBytes&, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const {
    require_input(passed.flags(), rows.num_items(), "flags");
    Collector<uint64_t> collector(out.values(passed.count()));
    if (passed.has_places()) {
        for_each_place(rows, passed, [&](uint64_t number) { collector.put(number); });
        out.add_valid(passed.count());
        return;
    }
    for_each_block(rows, [&](Bytes numbers, int64_t count, int64_t position) {
        const Bytes flags = passed.flags().subspan(static_cast<size_t>(position), static_cast<size_t>(count));
        if (has_flags(flags)) collector.add(numbers.data(), flags.data(), count);
    });
    out.add_valid(passed.count());
}

}  // namespace lance
