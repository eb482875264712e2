// Which of many keys cannot be among some others, by one look into a table each.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// The table of some keys: 2^bits bytes, 1 where a key leads to. keys: numbers of `width` bytes, 1, 2, 4 or 8.
std::vector<uint8_t> marked_places(Bytes keys, int64_t width, int64_t bits);

// The places of the keys in their order that lead to a mark of `marked`, as of `marked_places`.
std::vector<int64_t> keys_at_marks(Bytes keys, int64_t width, Bytes marked);

}  // namespace lance
