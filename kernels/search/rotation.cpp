// Signs are changed and the parts of a vector mixed by Walsh and Hadamard, a few rounds of both.
#include "search/vector_coding.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lance {

namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 20;
// Rows that are rotated together: value i of all of them is adjacent, so that every step works on vectors.
constexpr int64_t kLanes = 8;

// (x, y) becomes (x + y, x - y) for `count` pairs at a distance of `count` values.
inline void sums_and_differences(float* at, int64_t count) {
    float* far = at + count * kLanes;
    for (int64_t i = 0; i < count * kLanes; ++i) {
        const float first = at[i], second = far[i];
        at[i] = first + second;
        far[i] = first - second;
    }
}

void walsh_hadamard(float* values, int64_t count) {
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) sums_and_differences(values + start * kLanes, width);
    }
}

void turn(float* values, int64_t dimension, const uint8_t* signs) {
    const auto part = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(dimension)));
    const int64_t half = dimension / 2;
    const float length = 1 / std::sqrt(static_cast<float>(part));
    for (int64_t round = 0; round < kRotationRounds; ++round, signs += bytes_for_bits(dimension)) {
        for (int64_t i = 0; i < dimension; ++i) {
            const float sign = signs[i / 8] >> (i % 8) & 1 ? -1.0f : 1.0f;
            for (int64_t lane = 0; lane < kLanes; ++lane) values[i * kLanes + lane] *= sign;
        }
        float* chosen = values + (round % 2 == 0 ? 0 : dimension - part) * kLanes;
        walsh_hadamard(chosen, part);
        for (int64_t i = 0; i < part * kLanes; ++i) chosen[i] *= length;
        if (part < dimension) sums_and_differences(values, half);
    }
    if (part == dimension) return;
    // each of the four made lengths greater by the square root of 2
    for (int64_t i = 0; i < dimension * kLanes; ++i) values[i] *= 0.25f;
}

}  // namespace

void rotate(Bytes rows, int64_t num_rows, int64_t dimension, Bytes signs, MutableBytes out) {
    if (dimension < 1 || dimension > kMaxDimension) fail("vectors of ", dimension, " values");
    require_input(rows, multiply(multiply(num_rows, dimension), 4), "rows");
    require_input(signs, kRotationRounds * bytes_for_bits(dimension), "signs");
    require_output(out, multiply(multiply(num_rows, dimension), 4));
    std::vector<float> values(static_cast<size_t>(dimension * kLanes));
    for (int64_t start = 0; start < num_rows; start += kLanes) {
        const int64_t count = std::min(kLanes, num_rows - start);
        for (int64_t lane = 0; lane < count; ++lane) {
            const uint8_t* row = rows.data() + 4 * (start + lane) * dimension;
            for (int64_t i = 0; i < dimension; ++i)
                values[static_cast<size_t>(i * kLanes + lane)] = load<float>(row + 4 * i);
        }
        turn(values.data(), dimension, signs.data());
        for (int64_t lane = 0; lane < count; ++lane) {
            uint8_t* row = out.data() + 4 * (start + lane) * dimension;
            for (int64_t i = 0; i < dimension; ++i) store(row + 4 * i, values[static_cast<size_t>(i * kLanes + lane)]);
        }
    }
}

}  // namespace lance
