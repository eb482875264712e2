// Rows are compared block by block, and the nearest of each query are retained.
#include "search/nearest.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "system/shared_work.h"

namespace lance {

namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 20;
constexpr int64_t kMaxCodes = int64_t{1} << 16;
// Rows whose distances are made at once: they stay in the nearest cache.
constexpr int64_t kBlockRows = 256;
constexpr size_t kMostHeldBeside = 1024;
// Fewer codes are summed before a thread has been woken.
constexpr int64_t kCodesForHelp = 1 << 18;
constexpr size_t kMostHelpers = 7;

// The queries as the loops take them, and their lengths.
class Comparer {
  public:
    explicit Comparer(const Queries& queries) : queries_(queries) {
        if (queries.dimension < 1 || queries.dimension > kMaxDimension)
            fail("vectors of ", queries.dimension, " values");
        const bool counts = queries.metric == Metric::kHamming;
        switch (queries.value_bits) {
            case 8: loop_ = distance_loops.of_bytes; break;
            case 16: loop_ = distance_loops.of_half; break;
            case 32: loop_ = distance_loops.of_float; break;
            case 64: loop_ = distance_loops.of_double; break;
            default: fail("vectors of values of ", queries.value_bits, " bits");
        }
        if (counts && queries.value_bits != 8) fail("bits are counted of bytes");
        query_bytes_ = queries.dimension * std::max<int64_t>(queries.value_bits == 8 ? 8 : 32, queries.value_bits) / 8;
        require_input(queries.values, multiply(queries.num_queries, query_bytes_), "queries");
        norms_.resize(static_cast<size_t>(queries.num_queries));
        for (int64_t q = 0; queries.metric == Metric::kCosine && q < queries.num_queries; ++q)
            norms_[static_cast<size_t>(q)] = norm(q);
    }

    int64_t row_bytes() const { return queries_.dimension * queries_.value_bits / 8; }

    void compare(int64_t query, const uint8_t* rows, int64_t num_rows, float* out) const {
        loop_(rows, num_rows, queries_.dimension, queries_.values.data() + query * query_bytes_, queries_.metric,
              norms_[static_cast<size_t>(query)], out);
    }

  private:
    double norm(int64_t query) const {
        const uint8_t* at = queries_.values.data() + query * query_bytes_;
        double sum = 0;
        for (int64_t i = 0; i < queries_.dimension; ++i) {
            const double value = queries_.value_bits == 8    ? double{static_cast<double>(at[i])}
                                 : queries_.value_bits == 64 ? load<double>(at + 8 * i)
                                                             : double{load<float>(at + 4 * i)};
            sum += value * value;
        }
        return std::sqrt(sum);
    }

    const Queries& queries_;
    Distances loop_ = nullptr;
    int64_t query_bytes_;
    std::vector<double> norms_;
};

inline bool bit(Bytes bits, int64_t i) { return bits[static_cast<size_t>(i / 8)] >> (i % 8) & 1; }

// out[i] += the numbers of `kCodes` codes of row i, in their order.
template <int64_t kBits, int64_t kCodes>
void add_codes(const uint8_t* codes, int64_t num_rows, int64_t first_code, int64_t stride_byte, int64_t stride_row,
               const float* table, float* out) {
    constexpr int64_t kWidth = int64_t{1} << kBits;
    const uint8_t* at[kCodes];
    const float* columns[kCodes];
    int64_t shifts[kCodes];
    for (int64_t j = 0; j < kCodes; ++j) {
        const int64_t code = first_code + j;
        at[j] = codes + code * kBits / 8 * stride_byte;
        columns[j] = table + code * kWidth;
        shifts[j] = kBits == 4 ? code % 2 * 4 : 0;
    }
    for (int64_t i = 0; i < num_rows; ++i) {
        float sum = out[i];
        for (int64_t j = 0; j < kCodes; ++j) sum += columns[j][at[j][i * stride_row] >> shifts[j] & (kWidth - 1)];
        out[i] = sum;
    }
}

template <int64_t kBits>
void sum_rows(const uint8_t* codes, int64_t num_rows, int64_t num_codes, int64_t stride_byte, int64_t stride_row,
              const float* table, float* out) {
    std::fill_n(out, num_rows, 0.0f);
    // several codes at once: sums stay in registers, instead of being written and read for each code
    constexpr int64_t kAtOnce = 8;
    int64_t j = 0;
    for (; j + kAtOnce <= num_codes; j += kAtOnce) {
        add_codes<kBits, kAtOnce>(codes, num_rows, j, stride_byte, stride_row, table, out);
    }
    for (; j < num_codes; ++j) add_codes<kBits, 1>(codes, num_rows, j, stride_byte, stride_row, table, out);
}

void check(const Codebook& book) {
    const int64_t parts = book.num_parts, bits = book.num_bits, size = book.size;
    if (bits != 4 && bits != 8) fail("codes of ", bits, " bits");
    if (parts < 1 || parts > kMaxCodes || parts * bits % 8 != 0 || size < 1 || size > kMaxDimension) {
        fail("rows of ", parts, " codes for ", size, " values");
    }
    require_input(book.items, multiply(multiply(parts << bits, size), 4), "items");
}

// Contribution of each code of a partition to a distance.
std::vector<float> code_distances(const Codebook& book, Bytes asked) {
    const int64_t items = int64_t{1} << book.num_bits;
    std::vector<float> table(static_cast<size_t>(book.num_parts * items));
    const uint8_t* item = book.items.data();
    for (int64_t j = 0; j < book.num_parts; ++j) {
        const uint8_t* own = asked.data() + 4 * j * book.size;
        for (int64_t c = 0; c < items; ++c, item += 4 * book.size) {
            float sum = 0;
            for (int64_t i = 0; i < book.size; ++i) {
                const float value = load<float>(item + 4 * i), other = load<float>(own + 4 * i);
                sum += book.of_products ? value * other : (value - other) * (value - other);
            }
            table[static_cast<size_t>(j * items + c)] = book.of_products ? 1 - sum : sum;
        }
    }
    return table;
}

int64_t add_partition(NearestRows& nearest, int64_t query, const Codebook& book, const CodedPartition& partition,
                      bool columns, Bytes allowed) {
    const std::vector<float> table = code_distances(book, partition.asked);
    const float less = book.of_products ? static_cast<float>(book.num_parts - 1) : 0;
    const int64_t width = book.num_parts * book.num_bits / 8, num_rows = partition.num_rows;
    const int64_t stride_byte = columns ? num_rows : 1, stride_row = columns ? 1 : width,
                  num_allowed = size_of(allowed);
    constexpr int64_t kAtOnce = 1024;
    float sums[kAtOnce];
    int64_t shown = 0;
    for (int64_t start = 0; start < num_rows; start += kAtOnce) {
        const int64_t count = std::min(num_rows - start, kAtOnce);
        const uint8_t* codes = partition.codes.data() + start * stride_row;
        (book.num_bits == 8 ? sum_rows<8> : sum_rows<4>)(codes, count, book.num_parts, stride_byte, stride_row,
                                                         table.data(), sums);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = load<int64_t>(partition.rows.data() + 8 * (start + i));
            if (row < 0 || row >= num_allowed || allowed[static_cast<size_t>(row)] == 0) continue;
            ++shown;
            nearest.add(query, sums[i] - less, static_cast<uint64_t>(row));
        }
    }
    return shown;
}

}  // namespace

NearestRows::NearestRows(int64_t num_queries, int64_t k, float low, float high)
    : best_(static_cast<size_t>(num_queries)),
      k_(k == 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(k)),
      most_held_(k == 0 ? k_ : 2 * k_ + kMostHeldBeside),
      low_(low),
      high_(high) {}

void NearestRows::prune(Best& best) const {
    const auto kth = best.rows.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(best.rows.begin(), kth, best.rows.end());
    best.worst = kth->distance;
    best.rows.resize(k_);
}

void NearestRows::join(const NearestRows& other) {
    if (other.num_queries() != num_queries()) fail("rows of other queries");
    for (int64_t query = 0; query < num_queries(); ++query) {
        for (const Neighbour& row : other.best_[static_cast<size_t>(query)].rows) add(query, row.distance, row.row);
    }
}

NearestRows NearestRows::without_rows() const {
    NearestRows other(*this);
    for (Best& best : other.best_) best = Best();
    return other;
}

const std::vector<Neighbour>& NearestRows::sorted(int64_t query) {
    Best& best = best_.at(static_cast<size_t>(query));
    if (best.rows.size() > k_) prune(best);
    std::sort(best.rows.begin(), best.rows.end());
    return best.rows;
}

void add_vectors(NearestRows& nearest, const Queries& queries, Bytes values, Bytes validity, int64_t first_bit,
                 Bytes rows, int64_t num_rows) {
    const Comparer comparer(queries);
    if (nearest.num_queries() != queries.num_queries) fail("rows of other queries");
    require_input(values, multiply(num_rows, comparer.row_bytes()), "values");
    require_input(rows, multiply(num_rows, 8), "rows");
    if (!validity.empty()) require_input(validity, bytes_for_bits(first_bit + num_rows), "validity");
    float distances[kBlockRows];
    for (int64_t start = 0; start < num_rows; start += kBlockRows) {
        const int64_t count = std::min(kBlockRows, num_rows - start);
        for (int64_t query = 0; query < queries.num_queries; ++query) {
            comparer.compare(query, values.data() + start * comparer.row_bytes(), count, distances);
            for (int64_t i = 0; i < count; ++i) {
                if (!validity.empty() && !bit(validity, first_bit + start + i)) continue;
                nearest.add(query, distances[i], load<uint64_t>(rows.data() + 8 * (start + i)));
            }
        }
    }
}

void add_multivectors(NearestRows& nearest, const Queries& queries, Bytes values, Bytes offsets, Bytes rows,
                      int64_t num_rows) {
    const Comparer comparer(queries);
    if (nearest.num_queries() != 1) fail("several queries of several vectors");
    require_input(offsets, multiply(num_rows + 1, 8), "offsets");
    require_input(rows, multiply(num_rows, 8), "rows");
    std::vector<float> distances;
    int64_t start = load<int64_t>(offsets.data());
    if (start < 0) fail("offset ", start, " is negative");
    for (int64_t i = 0; i < num_rows; ++i) {
        const int64_t end = load<int64_t>(offsets.data() + 8 * (i + 1));
        if (end < start || end > kMaxCount) fail("row ", i, " has the vectors ", start, " to ", end);
        require_input(values, multiply(end, comparer.row_bytes()), "values");
        const int64_t count = end - start;
        if (count > 0) {
            distances.resize(static_cast<size_t>(count));
            float sum = 0;
            for (int64_t query = 0; query < queries.num_queries; ++query) {
                comparer.compare(query, values.data() + start * comparer.row_bytes(), count, distances.data());
                float least = std::numeric_limits<float>::quiet_NaN();
                // NaN stays only if no distance is finite
                for (const float distance : distances)
                    if (std::isfinite(distance) && !(distance >= least)) least = distance;
                sum += least;
            }
            nearest.add(0, sum, load<uint64_t>(rows.data() + 8 * i));
        }
        start = end;
    }
}

void add_distances(NearestRows& nearest, int64_t query, Bytes distances, Bytes allowed, Bytes rows, int64_t num_rows) {
    if (query >= nearest.num_queries()) fail("there is no query ", query);
    require_input(distances, multiply(num_rows, 4), "distances");
    require_input(rows, multiply(num_rows, 8), "rows");
    if (!allowed.empty()) require_input(allowed, num_rows, "allowed");
    for (int64_t i = 0; i < num_rows; ++i) {
        if (!allowed.empty() && allowed[static_cast<size_t>(i)] == 0) continue;
        nearest.add(query, load<float>(distances.data() + 4 * i), load<uint64_t>(rows.data() + 8 * i));
    }
}

int64_t add_product_codes(NearestRows& nearest, int64_t query, const Codebook& book,
                          const std::vector<CodedPartition>& partitions, bool columns, Bytes allowed) {
    if (query >= nearest.num_queries()) fail("there is no query ", query);
    check(book);
    int64_t num_codes = 0;
    for (const CodedPartition& each : partitions) {
        require_input(each.asked, multiply(book.num_parts * book.size, 4), "asked");
        require_input(each.codes, multiply(each.num_rows, book.num_parts * book.num_bits / 8), "codes");
        require_input(each.rows, multiply(each.num_rows, 8), "rows");
        num_codes += each.num_rows * book.num_parts;
    }
    const size_t num_helpers = num_codes < kCodesForHelp ? 0 : std::min(partitions.size() - 1, kMostHelpers);
    std::vector<NearestRows> of_helpers(num_helpers, nearest.without_rows());
    std::atomic<int64_t> shown = 0;
    share_work(partitions.size(), num_helpers, [&](size_t turn, size_t worker) {
        NearestRows& own = worker == 0 ? nearest : of_helpers[worker - 1];
        shown += add_partition(own, query, book, partitions[turn], columns, allowed);
        return true;
    });
    for (const NearestRows& each : of_helpers) nearest.join(each);
    return shown;
}

void vector_distances(const Queries& query, Bytes values, int64_t num_rows, MutableBytes out) {
    const Comparer comparer(query);
    if (query.num_queries != 1) fail(query.num_queries, " queries");
    require_input(values, multiply(num_rows, comparer.row_bytes()), "values");
    require_output(out, multiply(num_rows, 4));
    float distances[kBlockRows];
    for (int64_t start = 0; start < num_rows; start += kBlockRows) {
        const int64_t count = std::min(kBlockRows, num_rows - start);
        comparer.compare(0, values.data() + start * comparer.row_bytes(), count, distances);
        copy(out.data() + 4 * start, reinterpret_cast<const uint8_t*>(distances), 4 * count);
    }
}

}  // namespace lance
