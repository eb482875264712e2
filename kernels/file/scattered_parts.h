// Reads the bytes of rows that are far apart in a local file, without the bytes between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file/column_reader.h"
#include "system/buffers.h"

namespace lance {

// Some rows of a column, all of whose pages are open.
struct WantedRows {
    const ColumnReader* column;
    Ranges rows;
};

// Bytes of columns of one file. The parts look into the buffer.
struct ScatteredParts {
    PooledBuffer buffer;
    std::vector<std::optional<FileParts>> columns;  // nothing for one that has to be read in another way
};

// Reads columns whose pages all have scattered parts or few bytes, if the total fits in memory: pages of a damaged file
// may all claim the same bytes. Returns nothing if no page has such parts, if the file is missing, shorter or not a
// plain file, or if the system lacks such reads: the caller reads it in another way, and reports the error.
//
// throws: PageFailure for a column whose pages do not hold the rows
std::optional<ScatteredParts> read_scattered(const std::string& path, const std::vector<WantedRows>& columns);

}  // namespace lance
