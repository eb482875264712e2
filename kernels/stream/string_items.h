// Strings become indices of the distinct ones among them, which engines group and compare as numbers.
#pragma once

#include <cstdint>

#include "arrow/arrow_abi.h"

namespace lance {

// Replaces strings by an array of 32-bit indices with a dictionary. Meant for a few short strings that repeat; each
// other string is its own item. strings: built by a ColumnBuilder, with offsets of this many bits
void number_items(ArrowArray& strings, int64_t offset_bits);

}  // namespace lance
