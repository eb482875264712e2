// Excludes keys that cannot be in a set, with one table lookup for each.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// The flags of a set of keys: 2^bits bytes, 1 at the hash of each key. keys: numbers of `width` bytes, 1, 2, 4 or 8.
std::vector<uint8_t> key_filter(Bytes keys, int64_t width, int64_t bits);

// The positions of keys whose flag is set, ascending. flags: as of `key_filter`.
std::vector<int64_t> passing_keys(Bytes keys, int64_t width, Bytes flags);

}  // namespace lance
