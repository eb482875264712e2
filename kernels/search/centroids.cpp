// Centroids as the loops want them, and rows that go by in blocks.
#include "search/vector_coding.h"

#include <algorithm>
#include <vector>

namespace lance {

namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 20;
constexpr int64_t kRowsAtOnce = 256;

void check(Bytes rows, int64_t num_rows, int64_t stride, int64_t first, int64_t dimension) {
    if (dimension < 1 || stride > kMaxDimension || first + dimension > stride) {
        fail("values ", first, " to ", first + dimension, " of rows of ", stride);
    }
    require_input(rows, multiply(multiply(num_rows, stride), 4), "rows");
}

}  // namespace

std::vector<float> side_by_side(Bytes centroids, int64_t num_centroids, int64_t dimension) {
    if (num_centroids < 1 || num_centroids > (int64_t{1} << 24) || dimension < 1 || dimension > kMaxDimension) {
        fail(num_centroids, " centroids of ", dimension, " values");
    }
    require_input(centroids, multiply(multiply(num_centroids, dimension), 4), "centroids");
    const int64_t groups = (num_centroids + kCentroidLanes - 1) / kCentroidLanes;
    // the first row of a group has half of the squared lengths
    std::vector<float> arranged(static_cast<size_t>(groups * (dimension + 1) * kCentroidLanes));
    for (int64_t c = 0; c < groups * kCentroidLanes; ++c) {
        float* at = arranged.data() + (c / kCentroidLanes) * (dimension + 1) * kCentroidLanes + c % kCentroidLanes;
        if (c >= num_centroids) {
            // never the nearest
            *at = 1e38f;
            continue;
        }
        double squares = 0;
        for (int64_t j = 0; j < dimension; ++j) {
            const float value = load<float>(centroids.data() + 4 * (c * dimension + j));
            at[(j + 1) * kCentroidLanes] = value;
            squares += double{value} * double{value};
        }
        *at = static_cast<float>(squares / 2);
    }
    return arranged;
}

void nearest_centroids(Bytes rows, int64_t num_rows, int64_t stride, int64_t first, Bytes centroids,
                       int64_t num_centroids, int64_t dimension, MutableBytes numbers, MutableBytes distances) {
    check(rows, num_rows, stride, first, dimension);
    require_output(numbers, multiply(num_rows, 4), "numbers");
    if (!distances.empty()) require_output(distances, multiply(num_rows, 4), "distances");
    const std::vector<float> arranged = side_by_side(centroids, num_centroids, dimension);
    uint32_t chosen[kRowsAtOnce];
    float far[kRowsAtOnce];
    for (int64_t start = 0; start < num_rows; start += kRowsAtOnce) {
        const int64_t count = std::min(kRowsAtOnce, num_rows - start);
        distance_loops.to_centroids(rows.data() + 4 * (start * stride + first), count, stride, dimension,
                                    arranged.data(), num_centroids, chosen, far);
        copy(numbers.data() + 4 * start, reinterpret_cast<const uint8_t*>(chosen), 4 * count);
        if (!distances.empty()) copy(distances.data() + 4 * start, reinterpret_cast<const uint8_t*>(far), 4 * count);
    }
}

void sum_by_centroid(Bytes rows, int64_t num_rows, int64_t stride, int64_t first, int64_t dimension, Bytes numbers,
                     int64_t num_centroids, MutableBytes sums, MutableBytes counts) {
    check(rows, num_rows, stride, first, dimension);
    require_input(numbers, multiply(num_rows, 4), "numbers");
    require_output(sums, multiply(multiply(num_centroids, dimension), 8), "sums");
    require_output(counts, multiply(num_centroids, 8), "counts");
    for (int64_t i = 0; i < num_rows; ++i) {
        const int64_t number = load<uint32_t>(numbers.data() + 4 * i);
        if (number >= num_centroids) fail("centroid ", number, " of ", num_centroids);
        const uint8_t* row = rows.data() + 4 * (i * stride + first);
        uint8_t* sum = sums.data() + 8 * number * dimension;
        for (int64_t j = 0; j < dimension; ++j)
            store(sum + 8 * j, load<double>(sum + 8 * j) + double{load<float>(row + 4 * j)});
        store(counts.data() + 8 * number, load<int64_t>(counts.data() + 8 * number) + 1);
    }
}

void product_codes(Bytes rows, int64_t num_rows, int64_t dimension, Bytes codebook, int64_t num_parts, int64_t num_bits,
                   MutableBytes out) {
    if (num_bits != 4 && num_bits != 8) fail("codes of ", num_bits, " bits");
    if (num_parts < 1 || dimension % num_parts != 0 || num_parts * num_bits % 8 != 0) {
        fail("vectors of ", dimension, " values in ", num_parts, " parts");
    }
    check(rows, num_rows, dimension, 0, dimension);
    const int64_t size = dimension / num_parts, items = int64_t{1} << num_bits, width = num_parts * num_bits / 8;
    require_input(codebook, multiply(multiply(num_parts, items * size), 4), "codebook");
    require_output(out, multiply(num_rows, width));
    std::fill_n(out.begin(), num_rows * width, uint8_t{0});
    uint32_t chosen[kRowsAtOnce];
    float far[kRowsAtOnce];
    for (int64_t part = 0; part < num_parts; ++part) {
        const std::vector<float> arranged =
            side_by_side(codebook.subspan(static_cast<size_t>(4 * part * items * size)), items, size);
        for (int64_t start = 0; start < num_rows; start += kRowsAtOnce) {
            const int64_t count = std::min(kRowsAtOnce, num_rows - start);
            distance_loops.to_centroids(rows.data() + 4 * (start * dimension + part * size), count, dimension, size,
                                        arranged.data(), items, chosen, far);
            for (int64_t i = 0; i < count; ++i) {
                uint8_t& byte = out[static_cast<size_t>((start + i) * width + part * num_bits / 8)];
                byte = static_cast<uint8_t>(byte | chosen[i] << (num_bits == 4 ? part % 2 * 4 : 0));
            }
        }
    }
}

}  // namespace lance
