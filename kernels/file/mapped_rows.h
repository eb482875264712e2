// Rows of several mapped files in one call, which become one array for each column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arrow/held_arrays.h"
#include "file/column_reader.h"

namespace lance {

// Rows of columns of one file, whose pages with some of the rows are open.
struct MappedRows {
    Bytes content;                    // of the whole file
    std::optional<std::string> path;  // in the local file system, for rows that are far apart
    std::vector<const ColumnReader*> columns;
    Ranges rows{{}, 0};
};

struct JoinedRows {
    HeldArrays columns;
    std::vector<std::vector<int64_t>> touched;  // start and end of the mapped bytes of each page with rows, by file
};

// All files have the same columns. Throws std::invalid_argument for damage: reading the single file says where.
JoinedRows read_mapped(const std::vector<MappedRows>& files);

}  // namespace lance
