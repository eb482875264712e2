#include "batch_reader.h"

#include <deque>
#include <utility>

namespace lance {

namespace {

// What has been made is let go of when a later column fails.
class Arrays {
  public:
    Arrays() = default;
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;
    ~Arrays() {
        for (ArrowArray& array : arrays_) array.release(&array);
    }

    void add(ColumnBuilder& builder) {
        arrays_.reserve(arrays_.size() + 1);
        ArrowArray array;
        builder.finish(array);
        arrays_.push_back(array);
    }
    std::vector<ArrowArray> take() { return std::exchange(arrays_, {}); }

  private:
    std::vector<ArrowArray> arrays_;
};

// Calls append(part, builder, count) for each part of a column, which becomes one array.
template <class NumRows, class Append>
std::vector<ArrowArray> make_arrays(const std::vector<ColumnParts>& columns, NumRows num_rows, Append append) {
    Arrays arrays;
    for (size_t column = 0; column < columns.size(); ++column) {
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
            const int64_t expected = num_rows(columns[column]);
            ColumnBuilder builder(format, expected);
            int64_t position = columns[column].position;
            for (; i < parts.size(); ++i) {
                append(parts[i], position, builder);
                position += parts[i].rows.num_items();
            }
            i = 0;
            if (builder.num_rows() != expected) fail(expected, " rows became ", builder.num_rows());
            arrays.add(builder);
        } catch (const std::invalid_argument& error) {
            throw PageFailure(false, column, i < parts.size() ? parts[i].number : 0, error.what());
        }
    }
    return arrays.take();
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

// Clears the flags of rows that do not pass all tests; returns how many are left.
int64_t test_rows(const std::vector<TestedColumn>& tests, MutableBytes flags) {
    for (size_t column = 0; column < tests.size(); ++column) {
        for (size_t i = 0; i < tests[column].size(); ++i) {
            const auto& [part, test, position] = tests[column][i];
            const int64_t count = part.rows.num_items();
            try {
                if (position > size_of(flags) || count > size_of(flags) - position) fail("rows outside of the batch");
                part.page->mask(part.bytes, part.rows, *test,
                                flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count)));
            } catch (const std::invalid_argument& error) {
                throw PageFailure(true, column, part.number, error.what());
            }
        }
    }
    return count_flags(flags);
}

// One array for each column; with flags, of those rows that have one.
std::vector<ArrowArray> read_rows(const std::vector<ColumnParts>& columns) {
    return make_arrays(columns, num_rows_of, [](const PagePart& part, int64_t, ColumnBuilder& out) {
        part.page->read(part.bytes, part.rows, out);
    });
}

std::vector<ArrowArray> take_rows(const std::vector<ColumnParts>& columns, Bytes flags, int64_t num_left) {
    const auto count = [&](Bytes some) { return some.size() == flags.size() ? num_left : count_flags(some); };
    const auto num_flags = [&](const ColumnParts& column) {
        return count(part_of(flags, column.position, num_rows_of(column)));
    };
    return make_arrays(columns, num_flags, [&](const PagePart& part, int64_t position, ColumnBuilder& out) {
        const Bytes here = part_of(flags, position, part.rows.num_items());
        part.page->take(part.bytes, part.rows, here, count(here), out);
    });
}

// Columns taken apart into rows of pages.
class SplitColumns {
  public:
    void add(const TestedRows& test, size_t column, MutableBytes flags) {
        TestedColumn& parts = tested.emplace_back();
        for (const PageRows& part : split(test.rows, true, column)) {
            const int64_t count = part.rows().num_items();
            const PageAnswer answer = part.page < test.answers->size() ? (*test.answers)[part.page] : PageAnswer();
            try {
                const MutableBytes here = part_of(flags, part.position, count);
                if (answer.kind == PageAnswer::kUnknown) fail("a test without an answer for the page");
                if (answer.kind == PageAnswer::kFail) std::memset(here.data(), 0, here.size());
            } catch (const std::invalid_argument& error) {
                throw PageFailure(true, column, part.page, error.what());
            }
            if (answer.kind == PageAnswer::kTest) {
                parts.push_back({to_part(test.rows, part), answer.test, part.position});
            }
        }
    }

    void add(const ColumnRows& wanted, size_t column) {
        ColumnParts& parts = columns.emplace_back();
        for (const PageRows& part : split(wanted, false, column)) parts.parts.push_back(to_part(wanted, part));
    }

    std::vector<TestedColumn> tested;
    std::vector<ColumnParts> columns;

  private:
    const std::vector<PageRows>& split(const ColumnRows& rows, bool in_test, size_t column) {
        try {
            return held_.emplace_back(rows.column->split(rows.rows));
        } catch (const std::invalid_argument& error) {
            throw PageFailure(in_test, column, 0, error.what());
        }
    }

    static PagePart to_part(const ColumnRows& column, const PageRows& part) {
        return {part.reader, part.rows(), column.column->bytes(part.page, *column.parts), part.page};
    }

    std::deque<std::vector<PageRows>> held_;  // the parts look into these
};

}  // namespace

int64_t read_parts(const std::vector<TestedColumn>& tests, const std::vector<ColumnParts>& columns,
                   std::optional<MutableBytes> flags, std::vector<ArrowArray>& arrays) {
    if (!flags) {
        arrays = read_rows(columns);
        return 0;
    }
    const int64_t num_left = test_rows(tests, *flags);
    if (num_left > 0) arrays = num_left == size_of(*flags) ? read_rows(columns) : take_rows(columns, *flags, num_left);
    return num_left;
}

int64_t read_columns(const std::vector<TestedRows>& tests, const std::vector<ColumnRows>& columns,
                     std::optional<MutableBytes> flags, std::vector<ArrowArray>& arrays) {
    SplitColumns split;
    if (!flags && !tests.empty()) fail("tests without flags");
    for (size_t i = 0; i < tests.size(); ++i) split.add(tests[i], i, *flags);
    for (size_t i = 0; i < columns.size(); ++i) split.add(columns[i], i);
    return read_parts(split.tested, split.columns, flags, arrays);
}

}  // namespace lance
