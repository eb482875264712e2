// Which of many keys cannot be among some others, by one look into a table each.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// The flags of some keys: 2^bits bytes, 1 where the hash of a key is. keys: numbers of `width` bytes, 1, 2, 4 or 8.
std::vector<uint8_t> key_filter(Bytes keys, int64_t width, int64_t bits);

// The positions of keys whose flag is set, ascending. flags: as of `key_filter`.
std::vector<int64_t> passing_keys(Bytes keys, int64_t width, Bytes flags);

}  // namespace lance
