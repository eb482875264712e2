// The metadata of a column of a data file 2.x.
#pragma once

#include <optional>
#include <vector>

#include "system/bytes.h"

namespace lance {

// One page: its rows, the (start, end) of its buffers in the file, and the bytes that describe its encoding.
struct StoredPage {
    int64_t num_rows = 0;
    std::vector<int64_t> buffers;
    std::optional<Bytes> encoding;  // none if the bytes are stored elsewhere
};

struct StoredColumn {
    Bytes encoding;
    std::vector<StoredPage> pages;
};

StoredColumn parse_column(Bytes metadata, int64_t file_size);

// One page that was written: as StoredPage, and its first row in the file.
struct WrittenPage {
    int64_t num_rows = 0;
    std::vector<int64_t> buffers;
    Bytes encoding;
    int64_t priority = 0;
};

// The ColumnMetadata of a column, byte for byte as protobuf writes it.
std::vector<uint8_t> serialize_column(Bytes encoding, const std::vector<WrittenPage>& pages);

// The number of rows that a FileDescriptor names.
int64_t num_rows_of_file(Bytes descriptor);

}  // namespace lance
