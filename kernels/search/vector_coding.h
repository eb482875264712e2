// Vectors given to the nearest of some centroids, turned by a rotation, and coded by both.
#pragma once

#include "search/distance_loops.h"
#include "system/bytes.h"

namespace lance {

// Centroids in the layout of the loops: 32 adjacent, value by value; see `distance_loops.h`.
std::vector<float> side_by_side(Bytes centroids, int64_t num_centroids, int64_t dimension);

// numbers[i], u32 = the centroid nearest to row i, by the squared distance distances[i], f32, if there are any. Rows
// are f32, `stride` values from one to the next, of which `dimension` count from `first` on. Centroids are f32
// [num_centroids, dimension].
void nearest_centroids(Bytes rows, int64_t num_rows, int64_t stride, int64_t first, Bytes centroids,
                       int64_t num_centroids, int64_t dimension, MutableBytes numbers, MutableBytes distances);

// sums[c], f64 [num_centroids, dimension] += the rows whose number is c, and counts[c], i64 += how many there are.
void sum_by_centroid(Bytes rows, int64_t num_rows, int64_t stride, int64_t first, int64_t dimension, Bytes numbers,
                     int64_t num_centroids, MutableBytes sums, MutableBytes counts);

// Product codes of rows, f32 [num_rows, dimension]: for each of `num_parts` parts of a row the nearest item of its
// codebook, f32 [num_parts, 2^num_bits, dimension / num_parts]. out: [num_rows, num_parts * num_bits / 8]; the first
// of two codes of 4 bits is in the low ones.
void product_codes(Bytes rows, int64_t num_rows, int64_t dimension, Bytes codebook, int64_t num_parts, int64_t num_bits,
                   MutableBytes out);

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

inline constexpr int64_t kRotationRounds = 4;

// out[i] = row i rotated; f32 [num_rows, dimension] both. In each of four rounds the values whose bit of `signs` is set
// are negated, then the first 2^k values, the largest power that fits, are transformed, or the last 2^k in every second
// round; where these are not all, sums and differences of both halves follow. signs: ceil(dimension / 8) bytes a round.
void rotate(Bytes rows, int64_t num_rows, int64_t dimension, Bytes signs, MutableBytes out);

}  // namespace lance
