// Split block bloom filters over xxHash64.
#pragma once

#include "system/bytes.h"

namespace lance {

// xxHash64 with seed 0 of values of `width` bytes each; out: u64[num_values].
void hash_fixed(Bytes values, int64_t width, int64_t num_values, MutableBytes out);

// Adds the byte strings between num_values + 1 offsets of `offset_bits` (32 or 64) bits.
void hash_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, MutableBytes out);

// Sets the bits of each hash, u64, in a filter of whole blocks of 32 bytes.
void bloom_insert(Bytes hashes, MutableBytes filter);

}  // namespace lance
