// Strings become indices of the distinct ones among them, which engines group and compare as numbers.
#pragma once

#include <cstdint>

#include "arrow/arrow_abi.h"

namespace lance {

// Replaces strings by an array of 32-bit indices with a dictionary. Meant for a few short strings that repeat; of
// others each is an item of its own. strings: made by a ColumnBuilder, with offsets of so many bits
void number_items(ArrowArray& strings, int64_t offset_bits);

}  // namespace lance
