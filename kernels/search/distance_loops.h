// The innermost loops of vector search: distances between adjacent rows and one query.
#pragma once

#include "system/bytes.h"

namespace lance {

enum class Metric : int { kL2 = 0, kCosine = 1, kDot = 2, kHamming = 3 };

// Distances of `num_rows` rows of `dimension` values each, in the type of the values; the query has the same one, but
// for 16-bit floats, whose query has 32 bits. query_norm: the length of the query, for kCosine.
using Distances = void (*)(const uint8_t* rows, int64_t num_rows, int64_t dimension, const uint8_t* query,
                           Metric metric, double query_norm, float* out);

inline constexpr int64_t kCentroidLanes = 32;

// The nearest of some centroids for each row, of f32, and the squared distance to it; rows are `stride` values from
// each other. centroids: groups of 32, each with 32 halves of squared lengths, then for each of `dimension` values
// those of the 32 centroids.
using ToCentroids = void (*)(const uint8_t* rows, int64_t num_rows, int64_t stride, int64_t dimension,
                             const float* centroids, int64_t num_centroids, uint32_t* numbers, float* distances);

struct DistanceLoops {
    Distances of_half;
    Distances of_float;
    Distances of_double;
    Distances of_bytes;  // kHamming counts bits, kL2 is the sum of squared differences
    ToCentroids to_centroids;
};

// The loops for this processor.
extern const DistanceLoops& distance_loops;

}  // namespace lance
