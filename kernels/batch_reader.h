// A batch of rows in one call: tests of columns, then the rows that pass of all columns.
#pragma once

#include <string>
#include <vector>

#include "page_reader.h"

namespace lance {

// Some rows of one page, and the bytes that hold them.
struct PagePart {
    const PageReader* page;
    Ranges rows;
    PageBytes bytes;
};

// Rows of a column that become one array.
struct ColumnParts {
    int64_t position;  // of the first of them in the batch
    std::vector<PagePart> parts;
};

// Rows of a page that have to pass a test.
struct TestedPart {
    PagePart part;
    const PageTest* test;
    int64_t position;  // of the first of them in the batch
};

using TestedColumn = std::vector<TestedPart>;

// Where a batch could not be read.
struct PageFailure : std::invalid_argument {
    PageFailure(bool in_test, size_t column, size_t part, const std::string& message)
        : std::invalid_argument(message), in_test(in_test), column(column), part(part) {}

    bool in_test;
    size_t column;
    size_t part;
};

// Clears the flags of rows that do not pass all tests; returns how many are left.
int64_t test_rows(const std::vector<TestedColumn>& tests, MutableBytes flags);

// One array for each; with flags, of those rows that have one.
std::vector<ArrowArray> read_rows(const std::vector<ColumnParts>& columns);
std::vector<ArrowArray> take_rows(const std::vector<ColumnParts>& columns, Bytes flags);

}  // namespace lance
