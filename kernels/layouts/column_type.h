// The type that the pages of a column become: that of a value, and the lists and structs around it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layouts/page_layout.h"
#include "layouts/unravel.h"
#include "layouts/value_shape.h"

namespace lance {

// A list, a fixed-size list or a struct around a value.
struct Around {
    int64_t offset_bits;    // of a list with offsets, otherwise 0
    int64_t list_size = 1;  // the items of a fixed-size list, otherwise 1
};

struct ColumnType {
    ValueShape shape;           // of a value; of an item, for a type of indices
    int64_t index_bits = 0;     // of indices to items; 0: values are no indices
    int64_t most_items = 0;     // that such indices count
    bool makes_items = false;   // whether values without a dictionary are read as what items are
    std::vector<Around> outer;  // from the inside
    bool is_nested = false;     // arrays of all of it; otherwise of values inside structs at most
    bool are_places = false;    // places of blobs, which are inside of a blob layout
    std::string leaf_name;      // for errors
    std::string name;

    // A struct without members, inside structs at most: nothing is stored of it.
    bool is_empty_struct() const;
    // Whether only structs are around a value, none of which is NULL in a page with the layers.
    bool is_never_null_around(const Layers& layers) const;
    // Whether all rows are values.
    bool has_lists() const;

    // Rows of a page that are one row of the column: a fixed-size list of structs has its items as rows.
    int64_t items_per_row() const;

    // Whether values can be without parts and inside of nothing.
    bool has_plain_values() const;

    // Fails for layers that cannot hold the type.
    void check(const Layers& layers) const;
    // The layers around values for the readers.
    std::vector<NestedLayer> around(const Layers& layers) const;
};

// The format of values without parts; nothing for others.
std::optional<ColumnFormat> plain_format(const ValueShape& shape);

// Fails with Unsupported for a shape that values with parts cannot have.
void require_known(const ColumnType& type);

}  // namespace lance
