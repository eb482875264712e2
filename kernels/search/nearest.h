// The rows that are nearest to some query vectors.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "search/distance_loops.h"

namespace lance {

struct Neighbour {
    float distance;
    uint64_t row;

    bool operator<(const Neighbour& other) const {
        return distance != other.distance ? distance < other.distance : row < other.row;
    }
};

// The k nearest rows of each query among those added; by distance, then by number. Rows without a finite distance are
// excluded. Not thread-safe: each thread has its own, and they are merged.
class NearestRows {
  public:
    // k: 0 for all rows. Distances are from `low` on and below `high`.
    NearestRows(int64_t num_queries, int64_t k, float low, float high);

    int64_t num_queries() const { return static_cast<int64_t>(best_.size()); }

    void add(int64_t query, float distance, uint64_t row) {
        Best& best = best_[static_cast<size_t>(query)];
        if (!std::isfinite(distance) || distance < low_ || distance >= high_ || distance > best.worst) return;
        best.rows.push_back({distance, row});
        if (best.rows.size() >= most_held_) prune(best);
    }

    void join(const NearestRows& other);

    // For the same queries, with the same bounds, and without rows.
    NearestRows without_rows() const;

    // The best rows of a query in their order.
    const std::vector<Neighbour>& sorted(int64_t query);

  private:
    struct Best {
        std::vector<Neighbour> rows;
        // so far that it is not known to be among the best
        float worst = std::numeric_limits<float>::infinity();
    };

    void prune(Best& best) const;

    std::vector<Best> best_;
    size_t k_;
    size_t most_held_;
    float low_, high_;
};

// Query vectors, and what they are compared with.
struct Queries {
    Metric metric;
    int64_t value_bits;  // 16, 32, 64 of floats, 8 of bytes
    int64_t dimension;
    int64_t num_queries;
    Bytes values;  // as Distances takes them
};

// Shows rows to `nearest`: row i is the vector i of `values`, unless bit `first_bit + i` of `validity` is 0.
void add_vectors(NearestRows& nearest, const Queries& queries, Bytes values, Bytes validity, int64_t first_bit,
                 Bytes rows, int64_t num_rows);

// For rows of several vectors: those of row i are offsets[i] to offsets[i + 1] of `values`. Its distance is the sum,
// over the vectors of the one query, of the smallest distance to any of them.
void add_multivectors(NearestRows& nearest, const Queries& queries, Bytes values, Bytes offsets, Bytes rows,
                      int64_t num_rows);

// Shows rows with distances, f32, to `nearest`, for one query; those whose byte of `allowed` is 0 are left out.
void add_distances(NearestRows& nearest, int64_t query, Bytes distances, Bytes allowed, Bytes rows, int64_t num_rows);

// A codebook of product codes, f32 [num_parts, 2^num_bits, size], for vectors (dot product), or for their residuals
// from the centroids of their partitions.
struct Codebook {
    Bytes items;
    int64_t num_parts, num_bits, size;
    bool of_products;
};

// A partition of product codes. asked: the query or its residual, f32. codes: of 8 bits, or 4: the low ones of a byte
// first. rows: i64, negative for missing rows.
struct CodedPartition {
    Bytes asked, codes, rows;
    int64_t num_rows;
};

// Adds the rows of partitions to `nearest`, for one query; several threads share them. columns: byte j of row i is at j
// * num_rows + i; else at i * (bytes of a row) + j. Byte r of `allowed`: whether row r takes part. Returns the number
// of such rows.
int64_t add_product_codes(NearestRows& nearest, int64_t query, const Codebook& book,
                          const std::vector<CodedPartition>& partitions, bool columns, Bytes allowed);

// Distances of all rows to one query, f32.
void vector_distances(const Queries& query, Bytes values, int64_t num_rows, MutableBytes out);

}  // namespace lance
