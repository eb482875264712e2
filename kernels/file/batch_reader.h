// A batch of rows in one call: tests of columns, then the rows that pass of all columns.
#pragma once

#include <string>
#include <vector>

#include "file/column_reader.h"
#include "predicates/pair_matching.h"

namespace lance {

// Condition of rows by test numbers: all steps must pass, each of which is a test, a pair of columns, or one of several
// lists of steps. A test is true or false; conditions in which unknown matters use other tests.
struct FilterStep {
    using All = std::vector<FilterStep>;

    std::optional<size_t> test;
    std::optional<size_t> pair;
    std::vector<All> any;  // of which the rows have to pass one, unless there is a test or a pair
};
using FilterSteps = FilterStep::All;

// Position of a failure in a batch.
struct PageFailure : std::invalid_argument {
    PageFailure(bool in_test, size_t column, size_t number, const std::string& message, bool is_unsupported = false)
        : std::invalid_argument(message),
          in_test(in_test),
          column(column),
          number(number),
          is_unsupported(is_unsupported) {}

    bool in_test;
    size_t column;        // after those of all tests, the two of each pair
    size_t number;        // of the page
    bool is_unsupported;  // rather than damaged
};

// Rows of an open column of a file, which become one array.
struct ColumnRows {
    const ColumnReader* column;
    Ranges rows;
    const FileParts* parts;
    int64_t position = 0;  // of the first of them in the batch
};

// Tests for the rows of one page.
struct PageAnswer {
    enum Kind { kUnknown, kPass, kFail, kTest } kind = kUnknown;
    const PageTest* test = nullptr;
};

struct TestedRows {
    ColumnRows rows;
    const std::vector<PageAnswer>* answers;  // by page
    ZoneObserver* observer = nullptr;        // who is shown the values while they are tested; only of the first step
};

struct PairedRows {
    ColumnRows left;
    ColumnRows right;
    PairComparison comparison;
};

// Inputs of the steps of a filter.
struct FilterRows {
    std::vector<TestedRows> tests;
    std::vector<PairedRows> pairs;
};

// Every test, one after the other.
FilterSteps all_of(size_t num_tests);

// Appends one array for each column. With flags, those of rows that do not pass all steps are cleared first, and the
// arrays have the remaining rows; no arrays without any. Returns the number of remaining rows.
int64_t read_columns(const FilterRows& filter, const FilterSteps& steps, const std::vector<ColumnRows>& columns,
                     std::optional<MutableBytes> flags, std::vector<ArrowArray>& arrays);

// Appends one array for each column, with its rows in several files, one after the other.
void read_joined(const std::vector<std::vector<ColumnRows>>& columns, std::vector<ArrowArray>& arrays);

}  // namespace lance
