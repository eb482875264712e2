// The metadata of a column of a data file 2.x.
#pragma once

#include <optional>
#include <vector>

#include "bytes.h"

namespace lance {

// One page: its rows, the (start, end) of its buffers in the file, and the bytes that describe its encoding.
struct StoredPage {
    int64_t num_rows = 0;
    std::vector<int64_t> buffers;
    std::optional<Bytes> encoding;  // none where the bytes are stored elsewhere
};

struct StoredColumn {
    Bytes encoding;
    std::vector<StoredPage> pages;
};

StoredColumn parse_column(Bytes metadata, int64_t file_size);

// The number of rows that a FileDescriptor names.
int64_t num_rows_of_file(Bytes descriptor);

}  // namespace lance
