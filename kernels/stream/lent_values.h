// Arrays over bytes of a file in Arrow's layout, without a copy: mainly large vectors.
#pragma once

#include <optional>
#include <vector>

#include "arrow/shared_arrow.h"
#include "file/column_reader.h"

namespace lance {

// The bytes of one part of a column, which do not move while they are held.
struct LentBytes {
    size_t page;
    SharedArray owner;
};

// The rows as an array over the bytes of their page; nothing if they must be copied or decoded.
std::optional<ArrowArray> lend(const ColumnReader& column, const FileParts& parts, const std::vector<LentBytes>& lent,
                               const Ranges& rows);

}  // namespace lance
