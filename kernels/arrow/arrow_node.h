// Arrow arrays without own values: structs, lists and fixed-size lists around other arrays, or arrays of NULLs.
#pragma once

#include <optional>
#include <vector>

#include "arrow/arrow_abi.h"
#include "arrow/held_arrays.h"
#include "system/buffers.h"

namespace lance {

// Length, validity and offsets of an array with children.
struct NodeSlots {
    int64_t num_slots = 0;
    int64_t num_null = 0;
    PooledBuffer validity;                // only if there are NULLs
    std::optional<PooledBuffer> offsets;  // of a list with offsets
    int64_t offset_bits = 0;              // of these
};

// An array that owns the children, which are moved out of `children`; an importer may move them out again.
ArrowArray around(std::vector<ArrowArray> children, NodeSlots slots);

// So many NULLs, of the type that has no other values.
ArrowArray nulls(int64_t count);

// Keeps the first rows of a batch, which is a struct without NULLs that begins at its first row.
void cut(ArrowArray& batch, int64_t num_rows);

// What such an array was made of.
struct NodeParts {
    NodeSlots slots;
    HeldArrays children;
};

// Releases an array made by `around` that was not exported.
NodeParts take_apart(ArrowArray& array);

}  // namespace lance
