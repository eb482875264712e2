// The step size that keeps the direction of each row best, and the positions of the bits of a value in a block of 64.
#include "search/vector_coding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lance {

namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 20;
constexpr int64_t kMaxBits = 9;
constexpr int64_t kBlock = 64;
// A bound that holds in nearly all cases, as RaBitQ chooses it.
constexpr double kErrorFactor = 1.9;

// Some bits of a code and their position in its block: bits `from` and up of the value are at bit `to` of `byte`.
struct Piece {
    int byte, from, to, mask;
};

// A value's pieces in a block of 64 codes of `bits` bits.
void pieces_of(int64_t bits, int value, std::vector<Piece>& pieces) {
    const int base = bits == 3 ? 2 : bits == 5 ? 4 : bits == 7 ? 6 : static_cast<int>(bits);
    const int run = value / 16, position = value % 16;
    switch (base) {
        case 1: pieces.push_back({value / 8, 0, value % 8, 1}); break;
        case 2: pieces.push_back({position, 0, 2 * run, 3}); break;
        case 4:
            // alone, eights are adjacent; below a fifth bit, sixteens
            if (bits == 4) {
                pieces.push_back({8 * run + position % 8, 0, position / 8 * 4, 15});
            } else {
                pieces.push_back({16 * (run / 2) + position, 0, run % 2 * 4, 15});
            }
            break;
        case 6:
            if (run < 3) {
                pieces.push_back({16 * run + position, 0, 0, 63});
            } else {
                for (int part = 0; part < 3; ++part) pieces.push_back({16 * part + position, 2 * part, 6, 3});
            }
            break;
        default: pieces.push_back({value, 0, 0, 255});
    }
    if (base == bits) return;
    const int top = 8 * (position % 8) + 2 * run + position / 8;
    pieces.push_back({static_cast<int>(8 * base) + top / 8, base, top % 8, 1});
}

// The bits other than the signs: the size of a value in steps.
class Magnitudes {
  public:
    Magnitudes(int64_t dimension, int64_t bits)
        : dimension_(dimension),
          bits_(bits),
          top_((int64_t{1} << bits) - 1),
          shares_(static_cast<size_t>(dimension)),
          steps_(static_cast<size_t>(dimension)) {
        for (int value = 0; value < kBlock; ++value) {
            first_piece_[value] = pieces_.size();
            pieces_of(bits, value, pieces_);
        }
        first_piece_[kBlock] = pieces_.size();
    }

    // sizes: of the values of a row, without their signs. The steps of each, with which the row keeps its direction
    // best.
    const std::vector<int32_t>& choose(const std::vector<float>& sizes) {
        const float greatest = *std::max_element(sizes.begin(), sizes.end());
        for (size_t i = 0; i < sizes.size(); ++i) shares_[i] = sizes[i] / greatest;
        // The best number of steps in the greatest value is near 2^bits: lower if the other values fit better, higher
        // if it is an outlier that is better cut off. The search tries equal distances, then between two of them.
        const float all = static_cast<float>(top_ + 1);
        const float low = all / 4, distance = (all + 4 - low) / kCoarse;
        float best = 0, best_closeness = closeness(0);
        const auto try_from = [&](float first, float step, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                const float scale = first + step * static_cast<float>(i);
                const float current_closeness = closeness(scale);
                if (current_closeness > best_closeness) {
                    best_closeness = current_closeness;
                    best = scale;
                }
            }
        };
        try_from(low, distance, kCoarse + 1);
        try_from(std::max(best - distance, 0.0f), 2 * distance / kFine, kFine + 1);
        for (size_t i = 0; i < shares_.size(); ++i) steps_[i] = steps_of(shares_[i], best);
        return steps_;
    }

    int64_t num_bytes() const { return (dimension_ + kBlock - 1) / kBlock * 8 * bits_; }

    // Codes as they are stored: those of values that are not above 0 count downwards.
    void write(const uint8_t* signs, uint8_t* out) const {
        std::fill_n(out, num_bytes(), uint8_t{0});
        for (int64_t i = 0; i < dimension_; ++i) {
            const bool is_above = signs[i / 8] >> (i % 8) & 1;
            const auto steps = static_cast<int64_t>(steps_[static_cast<size_t>(i)]);
            const int64_t code = is_above ? steps : top_ - steps;
            uint8_t* block = out + i / kBlock * 8 * bits_;
            for (size_t k = first_piece_[i % kBlock]; k < first_piece_[i % kBlock + 1]; ++k) {
                const Piece& piece = pieces_[k];
                block[piece.byte] =
                    static_cast<uint8_t>(block[piece.byte] | (code >> piece.from & piece.mask) << piece.to);
            }
        }
    }

  private:
    static constexpr int64_t kCoarse = 32, kFine = 32, kLanes = 8;

    int32_t steps_of(float share, float scale) const {
        const float most = static_cast<float>(top_), steps = share * scale;
        // NaN is the most, too
        return static_cast<int32_t>(steps < most ? steps : most);
    }

    // The cosine between a row and its codes, but for the length of the row.
    float closeness(float scale) const {
        float products[kLanes] = {}, squares[kLanes] = {};
        for (int64_t i = 0; i < dimension_; i += kLanes) {
            for (int64_t lane = 0; lane < kLanes; ++lane) {
                const float share = shares_[static_cast<size_t>(i + lane)];
                const float code = static_cast<float>(steps_of(share, scale)) + 0.5f;
                products[lane] += code * share;
                squares[lane] += code * code;
            }
        }
        float product = 0, square = 0;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            product += products[lane];
            square += squares[lane];
        }
        return product / std::sqrt(square);
    }

    int64_t dimension_, bits_, top_;
    std::vector<float> shares_;
    std::vector<int32_t> steps_;
    std::vector<Piece> pieces_;
    size_t first_piece_[kBlock + 1] = {};
};

float to_float(double value) {
    constexpr double most = std::numeric_limits<float>::max();
    return static_cast<float>(std::clamp(value, -most, most));
}

// Codes one row after the other.
class RowCoder {
  public:
    RowCoder(int64_t dimension, int64_t num_bits, bool of_products)
        : dimension_(dimension),
          num_bits_(num_bits),
          times_(of_products ? 1 : 2),
          of_products_(of_products),
          sizes_(static_cast<size_t>(dimension)),
          magnitudes_(dimension, num_bits - 1) {}

    void code(const uint8_t* values, const uint8_t* centroid, uint8_t* to) {
        std::fill_n(to, dimension_ / 8, uint8_t{0});
        double total = 0, of_centroid = 0, centroid_product = 0;
        squares_ = 0;
        for (int64_t i = 0; i < dimension_; ++i) {
            const float value = load<float>(values + 4 * i), center = load<float>(centroid + 4 * i);
            const bool is_above = value > 0;
            to[i / 8] = static_cast<uint8_t>(to[i / 8] | is_above << (i % 8));
            sizes_[static_cast<size_t>(i)] = std::abs(value);
            squares_ += double{value} * double{value};
            total += double{std::abs(value)};
            of_centroid += double{is_above ? center : -center};
            centroid_product += double{value} * double{center};
        }
        base_ = of_products_ ? 1 - centroid_product : squares_;
        uint8_t* after = to + dimension_ / 8;
        write_factors(total / 2, of_centroid / 2, after);
        store(after + 8, to_float(error(total / 2)));
        if (num_bits_ > 1) code_magnitudes(centroid, to, after + 12);
    }

  private:
    void code_magnitudes(const uint8_t* centroid, const uint8_t* signs, uint8_t* to) {
        const std::vector<int32_t>& steps = magnitudes_.choose(sizes_);
        double product = 0, of_centroid = 0;
        for (int64_t i = 0; i < dimension_; ++i) {
            const double code = static_cast<double>(steps[static_cast<size_t>(i)]) + 0.5;
            const float center = load<float>(centroid + 4 * i);
            product += code * double{sizes_[static_cast<size_t>(i)]};
            of_centroid += code * double{signs[i / 8] >> (i % 8) & 1 ? center : -center};
        }
        magnitudes_.write(signs, to);
        write_factors(product, of_centroid, to + magnitudes_.num_bytes());
    }

    // product: of the row with its code; of_centroid: that of the centroid
    void write_factors(double product, double of_centroid, uint8_t* to) const {
        // nothing is left of a row that is its centroid
        const double ratio = product > 0 ? times_ * squares_ / product : 0;
        store(to, to_float(base_ + ratio * of_centroid));
        store(to + 4, to_float(-ratio));
    }

    // Error of distances by the signs alone, whose squares are 1/4: from the angle between the row and its code.
    double error(double product) const {
        if (!(product > 0)) return 0;
        const double tangent = std::max(squares_ * static_cast<double>(dimension_) / 4 / (product * product) - 1, 0.0);
        return times_ * kErrorFactor * std::sqrt(squares_ * tangent / static_cast<double>(dimension_ - 1));
    }

    int64_t dimension_, num_bits_;
    double times_;
    bool of_products_;
    std::vector<float> sizes_;
    Magnitudes magnitudes_;
    double squares_ = 0, base_ = 0;
};

}  // namespace

int64_t rotated_bits_width(int64_t dimension, int64_t num_bits) {
    const int64_t of_signs = dimension / 8 + 12;
    return num_bits == 1 ? of_signs : of_signs + (dimension + kBlock - 1) / kBlock * 8 * (num_bits - 1) + 8;
}

void rotated_bits(const TurnedRows& turned, int64_t num_bits, bool of_products, MutableBytes out) {
    const int64_t dimension = turned.dimension;
    if (dimension < 8 || dimension % 8 != 0 || dimension > kMaxDimension) fail("vectors of ", dimension, " values");
    if (num_bits < 1 || num_bits > kMaxBits) fail("codes of ", num_bits, " bits");
    require_input(turned.rows, multiply(multiply(turned.num_rows, dimension), 4), "rows");
    require_input(turned.numbers, multiply(turned.num_rows, 4), "numbers");
    require_input(turned.centroids, multiply(multiply(turned.num_centroids, dimension), 4), "centroids");
    const int64_t width = rotated_bits_width(dimension, num_bits);
    require_output(out, multiply(turned.num_rows, width));
    RowCoder coder(dimension, num_bits, of_products);
    for (int64_t i = 0; i < turned.num_rows; ++i) {
        const int64_t number = load<uint32_t>(turned.numbers.data() + 4 * i);
        if (number >= turned.num_centroids) fail("centroid ", number, " of ", turned.num_centroids);
        coder.code(turned.rows.data() + 4 * i * dimension, turned.centroids.data() + 4 * number * dimension,
                   out.data() + i * width);
    }
}

}  // namespace lance
