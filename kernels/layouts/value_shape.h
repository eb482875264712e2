// Arrow arrays of values that have parts: fixed-size lists whose items may be NULL, structs that are stored as one
// value, and the values of the null type.
#pragma once

#include <optional>
#include <vector>

#include "arrow/arrow_node.h"
#include "arrow/column_builder.h"

namespace lance {

// The memory layout of an array and of those inside it.
struct ValueShape {
    // kOther: no array that values with parts can become
    enum class Kind { kNull, kPlain, kLists, kStruct, kOther };

    Kind kind = Kind::kNull;
    ColumnFormat format{};             // kPlain
    bool narrows = false;              // kPlain of 64 bits: values may be stored in 128 bits
    int64_t list_size = 0;             // kLists
    std::vector<ValueShape> children;  // one of kLists; the members of kStruct

    bool operator==(const ValueShape&) const = default;
};

// An array that grows, and those inside it.
class ValueBuilder {
  public:
    ValueBuilder(const ValueShape& shape, int64_t most_rows);

    const ValueShape& shape() const { return *shape_; }
    int64_t num_rows() const { return plain_ ? plain_->num_rows() : num_rows_; }
    // Of kPlain.
    ColumnBuilder& plain() { return *plain_; }
    ValueBuilder& child(size_t number) { return children_[number]; }

    // Counts the next rows, whose values or children were added; validity: a bit for each, null if none is NULL.
    void add_rows(int64_t count, const uint8_t* validity);
    // The next rows with everything inside them as NULL.
    void add_null(int64_t count);

    // Moves the array out; nothing can be added any more.
    ArrowArray finish();

  private:
    void append_validity(int64_t count, const uint8_t* validity);

    const ValueShape* shape_;
    int64_t most_rows_;
    std::optional<ColumnBuilder> plain_;
    std::vector<ValueBuilder> children_;
    int64_t num_rows_ = 0;
    int64_t num_null_ = 0;
    PooledBuffer validity_;
    std::optional<BitWriter> bits_;
};

}  // namespace lance
