// The bytes of rows that are far apart in a local file, without what lies between them.
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

// Reads columns of which every page has parts that are far apart, or few bytes, as long as all of it is not too much to
// hold: pages of a damaged file may all claim the same bytes. Nothing where no page has such parts,
// where the file is missing, is shorter or is not a plain file, and on systems that have no such reads: the caller
// reads it in another way, and says what is wrong.
//
// throws: PageFailure for a column whose pages do not hold the rows
std::optional<ScatteredParts> read_scattered(const std::string& path, const std::vector<WantedRows>& columns);

}  // namespace lance
