// A set of words with numbers, as a transducer.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// The bytes of the transducer of words in the order of their bytes, without two of the same: word i is bytes ends[i] to
// ends[i + 1] of `words`, ends of i64, and has the number i.
std::vector<uint8_t> token_set(Bytes words, Bytes ends, int64_t num_words);

}  // namespace lance
