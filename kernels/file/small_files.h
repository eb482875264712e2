// Reads whole columns of many small data files in one call: opened and passed to the page readers without Python.
//
// Only files whose columns can be opened here are read. The caller handles all others, file by file: other file
// versions, other pages, missing or damaged files, and those whose rows share long values, so that they become far more
// bytes than the file has. No error is reported here.
#pragma once

#include <string>
#include <vector>

#include "arrow/held_arrays.h"
#include "layouts/column_type.h"
#include "system/bytes.h"

namespace lance {

// Larger files are left to the caller.
inline constexpr int64_t kSmallFileBytes = 1024 * 1024;

struct SmallFiles {
    std::vector<bool> read;
    HeldArrays columns;  // the rows of all files that were read, one after the other
};

// Reads columns of local files.
//
// num_rows: that each file must have
// types: of values without parts, not inside others
// column_indices: of every column in the first file, then in the second, ...
SmallFiles read_small_files(const std::vector<std::string>& paths, Bytes num_rows, const std::vector<ColumnType>& types,
                            Bytes column_indices);

}  // namespace lance
