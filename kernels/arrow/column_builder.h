// An Arrow array that grows page by page.
#pragma once

#include <memory>
#include <optional>

#include "arrow/arrow_abi.h"
#include "system/bits.h"
#include "system/buffers.h"

namespace lance {

// Memory layout of the values of an array.
struct ColumnFormat {
    bool variable;          // offsets, and the bytes of all values
    int64_t bits;           // of a value, or of an offset
    int64_t list_size = 0;  // of a fixed-size list that is a value: its items; 0: values are no lists

    // One value of these bytes.
    ColumnFormat without_list() const { return {variable, bits}; }

    bool operator==(const ColumnFormat&) const = default;
};

class ColumnBuilder {
  public:
    // most_rows: of the whole array; spare_rows: additional room for rows that may be dropped again
    ColumnBuilder(ColumnFormat format, int64_t most_rows, int64_t spare_rows = 0);

    const ColumnFormat& format() const { return format_; }
    int64_t num_rows() const { return num_rows_; }

    // Values of whole bytes: room for the next num_rows of them.
    MutableBytes values(int64_t num_rows);
    // Values of single bits.
    BitWriter& bits() { return *bits_; }

    // Values of variable width: the next num_rows + 1 offsets, of which offsets[0] is the current end of the bytes.
    MutableBytes offsets(int64_t num_rows);
    // Room for num_bytes at the end of the bytes, which stay where they are until the next call.
    MutableBytes bytes(int64_t num_bytes);
    int64_t num_bytes() const { return num_bytes_; }
    void add_bytes(int64_t num_bytes) { num_bytes_ += num_bytes; }

    // Counts the next rows: all are valid, or num_valid of those whose bits were appended.
    void add_valid(int64_t num_rows);
    // Rows that are added as valid are NULL at the zeros of `bits`, which begin with the next row; null ends this.
    void expect_validity(const uint8_t* bits) {
        expected_ = bits;
        num_expected_ = 0;
    }
    void add_null(int64_t num_rows);
    BitWriter& validity();
    void add_rows(int64_t num_rows, int64_t num_valid);

    // Moves the array out; nothing can be added any more. A dictionary must be allocated with `new`.
    void finish(ArrowArray& out);

  private:
    void require_room(int64_t num_rows) const;
    void begin_validity();
    void add_expected(int64_t num_rows);
    void append_ones(int64_t count);
    void shrink();
    void finish_lists(ArrowArray& out);

    ColumnFormat format_;
    int64_t most_rows_;  // and spare ones
    bool drops_rows_;
    int64_t num_rows_ = 0;
    int64_t num_null_ = 0;
    int64_t num_bytes_ = 0;
    PooledBuffer values_;
    PooledBuffer offsets_;
    PooledBuffer validity_;
    std::optional<BitWriter> bits_;
    std::optional<BitWriter> validity_bits_;
    const uint8_t* expected_ = nullptr;
    int64_t num_expected_ = 0;  // rows that have come since
};

}  // namespace lance
