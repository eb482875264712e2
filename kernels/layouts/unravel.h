// The levels of entries to the slots of every layer around values; see lists.cpp for one layer.
#pragma once

#include <vector>

#include "arrow/arrow_node.h"
#include "layouts/level_source.h"

namespace lance {

// One layer of a page, the value or a structure around it, with the ways in which its slots are absent.
struct NestedLayer {
    int64_t offset_bits;    // of a list; 0: a struct, a fixed-size list, or the value
    int64_t num_levels;     // 0 to 2
    bool has_empty;         // of a list: the last of its levels is that of empty ones
    int64_t list_size = 1;  // of a fixed-size list, whose items have a level each: its items

    bool is_list() const { return offset_bits != 0; }
};

// One NodeSlots for each layer, from the inside; the levels are used up.
// num_values: that belong to the entries
std::vector<NodeSlots> unravel(Entries& entries, const std::vector<NestedLayer>& layers, int64_t num_values);

// The slots of one layer in several consecutive parts.
NodeSlots concatenate(std::vector<NodeSlots> parts, int64_t offset_bits);

}  // namespace lance
