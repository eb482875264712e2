// Vectors coded by a few bits of each of their turned values.
#pragma once

#include "system/bytes.h"

namespace lance {

// Rotated residuals of vectors from the centroids of their partitions, and the rotated centroids. Values are f32.
struct TurnedRows {
    Bytes rows;  // [num_rows, dimension]
    int64_t num_rows;
    int64_t dimension;  // a multiple of 8
    Bytes numbers;      // u32, the centroid of each row
    Bytes centroids;    // [num_centroids, dimension]
    int64_t num_centroids;
};

// Codes of `num_bits` bits a value, 1 to 9. Value i of a row is step * (c - (2^num_bits - 1) / 2). The highest bit of c
// is its sign, and the step of the row preserves its direction best. A row of `out`:
//
//     dimension / 8 bytes           bit i of them: whether value i is above 0
//     3 f32                         of the signs alone: summand, factor, bound of the error
//     with more than one bit
//     ceil(dimension / 64) blocks   the other bits, 8 * (num_bits - 1) bytes for 64 values
//     2 f32                         of all bits: summand, factor
//
// With q the turned query and c the centroid, the distance is |q - c|^2 + summand + factor * q . codes, and of_products
// 1 - q . c + (summand - 1) * (q . c) / |c|^2 + factor * q . codes.
void rotated_bits(const TurnedRows& turned, int64_t num_bits, bool of_products, MutableBytes out);

// Bytes of a row of `out`.
int64_t rotated_bits_width(int64_t dimension, int64_t num_bits);

}  // namespace lance
