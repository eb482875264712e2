// Vectors turned by a rotation that takes d log d steps: signs and Walsh-Hadamard transforms.
#pragma once

#include "system/bytes.h"

namespace lance {

inline constexpr int64_t kRotationRounds = 4;

// out[i] = row i rotated; f32 [num_rows, dimension] both. In each of four rounds the values whose bit of `signs` is set
// are negated, then the first 2^k values, the largest power that fits, are transformed, or the last 2^k in every second
// round; where these are not all, sums and differences of both halves follow. signs: ceil(dimension / 8) bytes a round.
void rotate(Bytes rows, int64_t num_rows, int64_t dimension, Bytes signs, MutableBytes out);

}  // namespace lance
