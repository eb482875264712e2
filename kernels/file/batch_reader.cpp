// Tests of a batch one after the other, then the columns of the rows that are left.
#include "file/batch_reader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "arrow/held_arrays.h"
#include "layouts/nested_reader.h"

namespace lance {

namespace {

// Rows of a column that become one array.
struct ColumnParts {
    int64_t position;  // of the first of them in the batch
    std::vector<PagePart> parts;
};

// Rows of a page that have to pass a test.
struct TestedPart {
    PagePart part;
    const PageTest* test;              // null if none of them passes
    int64_t position;                  // of the first of them in the batch
    ZoneObserver* observer = nullptr;  // who is shown the values of all of them, if anybody
    int64_t first_row = 0;             // of the page in its file
};

using TestedColumn = std::vector<TestedPart>;

// Rows of two columns whose values are compared.
struct PairedParts {
    ColumnParts left;
    ColumnParts right;
    PairComparison comparison;
};

// Inputs of the steps of a filter, split into rows of pages.
struct FilterParts {
    std::vector<TestedColumn> tests;
    std::vector<PairedParts> pairs;
};

// One array for each column, built in any order. Finished arrays are released if a later column fails.
class Arrays {
  public:
    explicit Arrays(size_t count) : held_(count) {}

    bool has(size_t column) const { return (*this)[column].release != nullptr; }
    bool complete() const {
        return std::all_of(held_.arrays.begin(), held_.arrays.end(),
                           [](const ArrowArray& each) { return each.release != nullptr; });
    }
    const ArrowArray& operator[](size_t column) const { return held_.arrays[column]; }
    void set(size_t column, ColumnBuilder& builder) { builder.finish(held_.arrays[column]); }
    void set(size_t column, const ArrowArray& array) { held_.arrays[column] = array; }
    std::vector<ArrowArray> take() { return std::exchange(held_.arrays, {}); }

  private:
    HeldArrays held_;
};

// Expected number of rows of an array, and the additional room that it needs.
struct ArraySize {
    int64_t most_rows;
    int64_t spare_rows;
    bool is_exact;
};

// The array of a column, to which append(i, position, builder) appends each part.
template <class Append>
void make_array(const std::vector<ColumnParts>& columns, size_t column, ArraySize size, Append append, Arrays& arrays) {
    const std::vector<PagePart>& parts = columns[column].parts;
    size_t i = 0;
    try {
        if (parts.empty()) fail("an array of no pages");
        const ColumnFormat format = parts[0].page->format();
        for (; i < parts.size(); ++i) {
            if (parts[i].page->format() != format) fail("pages of several formats in one array");
            parts[i].page->require_bytes(parts[i].bytes, parts[i].rows.num_items());
        }
        i = 0;
        ColumnBuilder builder(format, size.most_rows, format.variable ? size.spare_rows : 0);
        int64_t position = columns[column].position;
        for (; i < parts.size(); ++i) {
            append(i, position, builder);
            position += parts[i].rows.num_items();
        }
        i = 0;
        if (size.is_exact && builder.num_rows() != size.most_rows)
            fail(size.most_rows, " rows became ", builder.num_rows());
        arrays.set(column, builder);
    } catch (const std::invalid_argument& error) {
        throw PageFailure(false, column, i < parts.size() ? parts[i].number : 0, error.what());
    }
}

// The array of a column inside lists or structs; false for other columns.
bool make_nested(const std::vector<ColumnParts>& columns, size_t column, std::optional<Bytes> flags, Arrays& arrays) {
    const std::vector<PagePart>& parts = columns[column].parts;
    if (parts.empty() || parts[0].page->nested() == nullptr) return false;
    size_t i = 0;
    try {
        if (flags) flags = flags->subspan(static_cast<size_t>(std::min(columns[column].position, size_of(*flags))));
        arrays.set(column, read_nested(parts, flags, i));
    } catch (const std::invalid_argument& error) {
        throw PageFailure(false, column, parts[i].number, error.what());
    }
    return true;
}

int64_t num_rows_of(const ColumnParts& column) {
    int64_t num_rows = 0;
    for (const PagePart& part : column.parts) num_rows += part.rows.num_items();
    return num_rows;
}

template <class Flags>
Flags part_of(Flags flags, int64_t position, int64_t count) {
    if (position > size_of(flags) || count > size_of(flags) - position) fail("rows outside of the batch");
    return flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count));
}

void read_rows(const std::vector<ColumnParts>& columns, Arrays& arrays) {
    for (size_t column = 0; column < columns.size(); ++column) {
        if (arrays.has(column) || make_nested(columns, column, std::nullopt, arrays)) continue;
        const auto append = [&](size_t i, int64_t, ColumnBuilder& out) {
            const PagePart& part = columns[column].parts[i];
            part.page->read(part.bytes, part.rows, out);
        };
        make_array(columns, column, {num_rows_of(columns[column]), 0, true}, append, arrays);
    }
}

// The num_left rows with a flag.
void take_rows(const std::vector<ColumnParts>& columns, Bytes flags, int64_t num_left, Arrays& arrays) {
    const bool are_few = num_left * kRowsPerPlace < size_of(flags);
    if (arrays.complete()) return;
    const std::vector<int64_t> positions = are_few ? places_of(flags, num_left) : std::vector<int64_t>();
    const auto passed = [&](int64_t position, int64_t count) {
        const Bytes here = part_of(flags, position, count);
        if (!are_few) return PassedRows(here, here.size() == flags.size() ? num_left : count_flags(here));
        const auto first = std::lower_bound(positions.begin(), positions.end(), position);
        const auto last = std::lower_bound(first, positions.end(), position + count);
        return PassedRows(here, last - first, {first, last}, position);
    };
    for (size_t column = 0; column < columns.size(); ++column) {
        if (arrays.has(column) || make_nested(columns, column, flags, arrays)) continue;
        const auto append = [&](size_t i, int64_t position, ColumnBuilder& out) {
            const PagePart& part = columns[column].parts[i];
            part.page->take(part.bytes, part.rows, passed(position, part.rows.num_items()), out);
        };
        const int64_t count = passed(columns[column].position, num_rows_of(columns[column])).count();
        make_array(columns, column, {count, kSpareRows, true}, append, arrays);
    }
}

// Clears the flags of rows that do not pass a test.
void run_test(const FilterParts& filter, size_t number, MutableBytes flags) {
    if (number >= filter.tests.size()) fail("no test ", number);
    for (const auto& [part, test, position, observer, first_row] : filter.tests[number]) {
        try {
            const MutableBytes here = part_of(flags, position, part.rows.num_items());
            if (test == nullptr) {
                std::memset(here.data(), 0, here.size());
            } else if (observer != nullptr) {
                part.page->mask_observed(part.bytes, part.rows, *test, here, first_row, *observer);
            } else {
                part.page->mask(part.bytes, part.rows, *test, here);
            }
        } catch (const std::invalid_argument& error) {
            throw PageFailure(true, number, part.number, error.what());
        }
    }
}

// Clears the flags of rows whose values do not compare; both columns are decoded for the rows that are left.
void run_pair(const FilterParts& filter, size_t number, MutableBytes flags) {
    if (number >= filter.pairs.size()) fail("no pair ", number);
    const auto& [left, right, comparison] = filter.pairs[number];
    const int64_t num_left = count_flags(flags);
    if (num_left == 0) return;
    const size_t first_column = filter.tests.size() + 2 * number;
    try {
        if (left.parts.empty() || right.parts.empty()) fail("a pair of no pages");
        if (left.parts[0].page->nested() || right.parts[0].page->nested()) fail("lists and structs are not compared");
        const ColumnFormat format = left.parts[0].page->format();
        check_pair(comparison, format, right.parts[0].page->format());
        const std::vector<ColumnParts> both{left, right};
        Arrays arrays(2);
        if (num_left == size_of(flags)) {
            read_rows(both, arrays);
        } else {
            take_rows(both, flags, num_left, arrays);
        }
        keep_pairs(arrays[0], arrays[1], format, comparison, flags);
    } catch (const PageFailure& failure) {
        throw PageFailure(true, first_column + failure.column, failure.number, failure.what());
    } catch (const std::invalid_argument& error) {
        throw PageFailure(true, first_column, left.parts.empty() ? 0 : left.parts[0].number, error.what());
    }
}

void run_any(const FilterParts& filter, const std::vector<FilterSteps>& any, MutableBytes flags);

// Clears the flags of rows that do not pass all steps [0, num_steps).
void run_steps(const FilterParts& filter, const FilterSteps& steps, size_t num_steps, MutableBytes flags) {
    for (size_t i = 0; i < num_steps; ++i) {
        if (steps[i].test) {
            run_test(filter, *steps[i].test, flags);
        } else if (steps[i].pair) {
            run_pair(filter, *steps[i].pair, flags);
        } else {
            run_any(filter, steps[i].any, flags);
        }
    }
}

// Rows that have passed one of the lists are not tested by the next.
void run_any(const FilterParts& filter, const std::vector<FilterSteps>& any, MutableBytes flags) {
    std::vector<uint8_t> left(flags.begin(), flags.end());
    std::memset(flags.data(), 0, flags.size());
    for (const FilterSteps& all : any) {
        std::vector<uint8_t> passed = left;
        run_steps(filter, all, all.size(), passed);
        for (size_t i = 0; i < passed.size(); ++i) {
            flags[i] |= passed[i];
            left[i] ^= passed[i];
        }
    }
}

// For fewer rows a test decodes single values, which the reader of the rows cannot reuse.
constexpr int64_t kMostDropped = 8;

// Makes the array of a column while its rows are tested.
void filter_rows(const TestedColumn& tests, const std::vector<ColumnParts>& columns, size_t column, MutableBytes flags,
                 Arrays& arrays) {
    const std::vector<PagePart>& parts = columns[column].parts;
    auto next = tests.begin();
    const auto append = [&](size_t i, int64_t position, ColumnBuilder& out) {
        const PagePart& part = parts[i];
        const MutableBytes here = part_of(flags, position, part.rows.num_items());
        const bool is_tested = next != tests.end() && next->part.number == part.number;
        const PageTest* test = is_tested ? next++->test : nullptr;
        if (test != nullptr) {
            part.page->filter(part.bytes, part.rows, *test, here, out);
        } else if (is_tested) {
            std::memset(here.data(), 0, here.size());
        } else {
            part.page->take(part.bytes, part.rows, PassedRows(here, count_flags(here)), out);
        }
    };
    make_array(columns, column, {num_rows_of(columns[column]), kSpareRows, false}, append, arrays);
}

bool filters_at_once(const TestedColumn& tests) {
    return std::any_of(tests.begin(), tests.end(), [](const TestedPart& each) {
        return each.test != nullptr && each.observer == nullptr && each.part.page->filters_at_once(*each.test);
    });
}

// Columns split into rows of pages.
class SplitColumns {
  public:
    void add(const TestedRows& test, size_t column, MutableBytes flags) {
        TestedColumn& parts = filter.tests.emplace_back();
        for (const PageRows& part : split(test.rows, true, column)) {
            const int64_t count = part.rows().num_items();
            const PageAnswer answer = part.page < test.answers->size() ? (*test.answers)[part.page] : PageAnswer();
            try {
                part_of(flags, part.position, count);
                if (answer.kind == PageAnswer::kUnknown) fail("a test without an answer for the page");
            } catch (const std::invalid_argument& error) {
                throw PageFailure(true, column, part.page, error.what());
            }
            if (answer.kind != PageAnswer::kPass) {
                parts.push_back({to_part(test.rows, part, true, column), answer.test, part.position, test.observer,
                                 test.rows.column->first_row(part.page)});
            }
        }
    }

    // first_column: the number of the left one
    void add(const PairedRows& pair, size_t first_column) {
        filter.pairs.push_back(
            {parts_of(pair.left, true, first_column), parts_of(pair.right, true, first_column + 1), pair.comparison});
    }

    void add(const ColumnRows& wanted, size_t column) { columns.push_back(parts_of(wanted, false, column)); }

    // Rows of a column in several files.
    void add(const std::vector<ColumnRows>& files, size_t column) {
        ColumnParts& joined = columns.emplace_back(ColumnParts{0, {}});
        for (const ColumnRows& rows : files) {
            const ColumnParts parts = parts_of(rows, false, column);
            joined.parts.insert(joined.parts.end(), parts.parts.begin(), parts.parts.end());
        }
    }

    FilterParts filter;
    std::vector<ColumnParts> columns;

  private:
    ColumnParts parts_of(const ColumnRows& rows, bool in_test, size_t column) {
        ColumnParts parts{rows.position, {}};
        for (const PageRows& part : split(rows, in_test, column))
            parts.parts.push_back(to_part(rows, part, in_test, column));
        return parts;
    }

    const std::vector<PageRows>& split(const ColumnRows& rows, bool in_test, size_t column) {
        try {
            return held_.emplace_back(rows.column->split(rows.rows));
        } catch (const std::invalid_argument& error) {
            throw PageFailure(in_test, column, 0, error.what());
        }
    }

    static PagePart to_part(const ColumnRows& rows, const PageRows& part, bool in_test, size_t column) {
        try {
            return {part.reader, part.rows(), rows.column->bytes(part.page, *rows.parts), part.page};
        } catch (const std::invalid_argument& error) {
            throw PageFailure(in_test, column, part.page, error.what());
        }
    }

    std::deque<std::vector<PageRows>> held_;  // the parts look into these
};

// tested_last: the column of the last test, for the same rows, if it is read as well
int64_t read_parts(const FilterParts& filter, const FilterSteps& steps, const std::vector<ColumnParts>& columns,
                   std::optional<MutableBytes> flags, std::vector<ArrowArray>& arrays,
                   std::optional<size_t> tested_last) {
    Arrays made(columns.size());
    if (!flags) {
        read_rows(columns, made);
        arrays = made.take();
        return 0;
    }
    const bool at_once = tested_last && filters_at_once(filter.tests[*steps.back().test]);
    const size_t num_before = steps.size() - at_once;
    run_steps(filter, steps, num_before, *flags);
    int64_t num_left = count_flags(*flags);
    if (at_once && num_left * kMostDropped >= size_of(*flags)) {
        filter_rows(filter.tests[*steps.back().test], columns, *tested_last, *flags, made);
        num_left = count_flags(*flags);
    } else if (at_once) {
        run_test(filter, *steps.back().test, *flags);
        num_left = count_flags(*flags);
    }
    if (num_left == 0) return 0;
    if (num_left == size_of(*flags)) {
        read_rows(columns, made);
    } else {
        take_rows(columns, *flags, num_left, made);
    }
    arrays = made.take();
    return num_left;
}

}  // namespace

FilterSteps all_of(size_t num_tests) {
    FilterSteps steps(num_tests);
    for (size_t i = 0; i < num_tests; ++i) steps[i].test = i;
    return steps;
}

int64_t read_columns(const FilterRows& filter, const FilterSteps& steps, const std::vector<ColumnRows>& columns,
                     std::optional<MutableBytes> flags, std::vector<ArrowArray>& arrays) {
    const std::vector<TestedRows>& tests = filter.tests;
    SplitColumns split;
    if (!flags && !steps.empty()) fail("tests without flags");
    for (size_t i = 0; i < tests.size(); ++i) split.add(tests[i], i, *flags);
    for (size_t i = 0; i < filter.pairs.size(); ++i) split.add(filter.pairs[i], tests.size() + 2 * i);
    for (size_t i = 0; i < columns.size(); ++i) split.add(columns[i], i);
    std::optional<size_t> tested_last;
    if (!steps.empty() && steps.back().test && *steps.back().test < tests.size()) {
        const ColumnRows& tested = tests[*steps.back().test].rows;
        for (size_t i = 0; i < columns.size(); ++i) {
            if (columns[i].column == tested.column && columns[i].rows == tested.rows) tested_last = i;
        }
    }
    return read_parts(split.filter, steps, split.columns, flags, arrays, tested_last);
}

void read_joined(const std::vector<std::vector<ColumnRows>>& columns, std::vector<ArrowArray>& arrays) {
    SplitColumns split;
    for (size_t i = 0; i < columns.size(); ++i) split.add(columns[i], i);
    Arrays made(columns.size());
    read_rows(split.columns, made);
    arrays = made.take();
}

}  // namespace lance
