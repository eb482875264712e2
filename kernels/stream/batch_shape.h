// Assembles the columns of a batch from the columns that are read: leaves of structs, lists and maps.
#pragma once

#include <optional>
#include <vector>

#include "arrow/arrow_node.h"

namespace lance {

enum class ShapeKind : int { kStruct = 0, kList = 1, kMap = 2 };

// A column of the batch: one column that is read, or several merged ones, each a chain of arrays with one child from
// the outside to a leaf; or a column of NULLs, for which nothing is read.
struct StreamedShape {
    std::optional<size_t> column;
    std::optional<ShapeKind> kind;       // neither: NULLs
    std::vector<StreamedShape> members;  // of a list or a map one

    bool are_nulls() const { return !column && !kind; }
    size_t num_columns() const;
    size_t first_column() const { return column ? *column : members.front().first_column(); }
};

// Refuses shapes that do not have each of the columns once, and NULLs among members.
void check_shapes(const std::vector<StreamedShape>& shapes, size_t num_columns);

// The shape, which is not of NULLs, of the columns that have been read, which are moved out.
ArrowArray assemble(const StreamedShape& shape, std::vector<ArrowArray>& read);

}  // namespace lance
