// Buffers among the bytes of a page, and the ends of the strings in them.
#pragma once

#include "encodings/chunks.h"
#include "encodings/decode.h"
#include "layouts/array_reader.h"

namespace lance {

constexpr int64_t kEndBytes = 8;

inline Bytes part_of(const PageBytes& bytes, const StoredBuffer& buffer) {
    const int64_t start = buffer.start - bytes.start;
    if (start < 0 || start > size_of(bytes.data) || buffer.size > size_of(bytes.data) - start) {
        fail("a buffer of ", buffer.size, " bytes is not in memory");
    }
    return bytes.data.subspan(static_cast<size_t>(start), static_cast<size_t>(buffer.size));
}

template <class Visit>
void for_each_range(const Ranges& rows, Visit visit) {
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows.start(i) < rows.end(i)) visit(rows.start(i), rows.end(i));
    }
}

// Ends of strings.
class Ends {
  public:
    Ends(Bytes ends, int64_t num_bytes, int64_t null_adjustment)
        : ends_(ends), num_bytes_(num_bytes), adjustment_(static_cast<uint64_t>(null_adjustment)) {}

    struct End {
        int64_t position;
        bool is_null;
    };

    // row: from -1 on, which is the start of the first string
    End of(int64_t row) const {
        if (row < 0) return {0, false};
        const auto stored = load<uint64_t>(ends_.data() + kEndBytes * row);
        const bool is_null = stored >= adjustment_;
        const uint64_t end = is_null ? stored - adjustment_ : stored;
        if (end > static_cast<uint64_t>(num_bytes_) || end >= adjustment_) {
            fail("row ", row, " ends at ", end, " of ", num_bytes_, " bytes");
        }
        return {static_cast<int64_t>(end), is_null};
    }

  private:
    Bytes ends_;
    int64_t num_bytes_;
    uint64_t adjustment_;
};

}  // namespace lance
