// Vectors given to the nearest of some centroids, and coded by it.
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

}  // namespace lance
