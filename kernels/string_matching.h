// Which byte strings match.
#pragma once

#include "page_reader.h"

namespace lance {

// Clears the flags of strings that do not match; NULL never does. strings: an array with offsets of offset_bits, one
// string for each of the flags, or, with is_sparse, for each of those that are set
void keep_strings(const ArrowArray& strings, int64_t offset_bits, const StringTest& test, bool is_sparse,
                  MutableBytes flags);

}  // namespace lance
