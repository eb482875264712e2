// Arrays over bytes of a file that are already Arrow's, without a copy: large vectors above all.
#pragma once

#include <optional>
#include <vector>

#include "arrow/shared_arrow.h"
#include "file/column_reader.h"

namespace lance {

// The bytes of one of the parts of a column, which stay where they are as long as somebody holds them.
struct LentBytes {
    size_t page;
    SharedArray owner;
};

// The rows as an array over the bytes of their page; nothing where they have to be copied or decoded.
std::optional<ArrowArray> lend(const ColumnReader& column, const FileParts& parts, const std::vector<LentBytes>& lent,
                               const Ranges& rows);

}  // namespace lance
