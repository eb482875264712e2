// Binds the kernels of search.
#include <nanobind/stl/optional.h>

#include "bind/python.h"
#include "bind/shared_numbers.h"
#include "search/nearest.h"
#include "search/posting_lists.h"
#include "search/word_scores.h"

using namespace nanobind::literals;

namespace lance {

namespace {

// The words of a query, and the buffers that they look into.
struct QueriedWords {
    QueriedWords() = default;
    QueriedWords(QueriedWords&&) = default;
    QueriedWords(const QueriedWords&) = delete;

    std::vector<WordList> words;
    std::vector<InputBuffer> held;
};

// Partitions of product codes, and the buffers that these look into.
struct CodedPartitions {
    CodedPartitions(Codebook book, bool columns) : book(book), columns(columns) {}
    CodedPartitions(const CodedPartitions&) = delete;

    Codebook book;
    bool columns;
    std::vector<CodedPartition> partitions;
    std::vector<InputBuffer> held;
};

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<NearestRows>(m, "NearestRows")
        .def(
            "__init__",
            [](NearestRows* self, Count num_queries, Count k, float low, float high) {
                const int64_t queries = num_queries, most = k;
                if (queries > (1 << 20) || most > (int64_t{1} << 32))
                    fail(queries, " queries for ", most, " rows each");
                new (self) NearestRows(queries, most, low, high);
            },
            "num_queries"_a, "k"_a, "low"_a, "high"_a)
        .def(
            "add_vectors",
            [](NearestRows& self, Choice<Metric> metric, Count value_bits, Count dimension, const InputBuffer& queries,
               const InputBuffer& values, const std::optional<InputBuffer>& validity, Count first_bit,
               const InputBuffer& rows, Count num_rows) {
                Unlocked unlocked;
                add_vectors(self, {metric, value_bits, dimension, self.num_queries(), queries}, values,
                            validity ? Bytes(*validity) : Bytes(), first_bit, rows, num_rows);
            },
            "metric"_a, "value_bits"_a, "dimension"_a, "queries"_a, "values"_a, "validity"_a, "first_bit"_a, "rows"_a,
            "num_rows"_a)
        .def(
            "add_multivectors",
            [](NearestRows& self, Choice<Metric> metric, Count value_bits, Count dimension, Count num_vectors,
               const InputBuffer& queries, const InputBuffer& values, const InputBuffer& offsets,
               const InputBuffer& rows, Count num_rows) {
                Unlocked unlocked;
                add_multivectors(self, {metric, value_bits, dimension, num_vectors, queries}, values, offsets, rows,
                                 num_rows);
            },
            "metric"_a, "value_bits"_a, "dimension"_a, "num_vectors"_a, "queries"_a, "values"_a, "offsets"_a, "rows"_a,
            "num_rows"_a)
        .def(
            "add_distances",
            [](NearestRows& self, Count query, const InputBuffer& distances, const std::optional<InputBuffer>& allowed,
               const InputBuffer& rows, Count num_rows) {
                Unlocked unlocked;
                add_distances(self, query, distances, allowed ? Bytes(*allowed) : Bytes(), rows, num_rows);
            },
            "query"_a, "distances"_a, "allowed"_a, "rows"_a, "num_rows"_a)
        .def("join", &NearestRows::join, "other"_a)
        .def(
            "count",
            [](NearestRows& self, Count query) {
                const int64_t number = query;
                if (number >= self.num_queries()) fail("there is no query ", number);
                return self.sorted(number).size();
            },
            "query"_a)
        .def(
            "result",
            [](NearestRows& self, Count query, const OutputBuffer& rows, const OutputBuffer& distances) {
                const int64_t number = query;
                if (number >= self.num_queries()) fail("there is no query ", number);
                const auto& nearest = self.sorted(number);
                const MutableBytes numbers = rows, values = distances;
                require_output(numbers, static_cast<int64_t>(nearest.size()) * 8, "rows");
                require_output(values, static_cast<int64_t>(nearest.size()) * 4, "distances");
                for (size_t i = 0; i < nearest.size(); ++i) {
                    store(numbers.data() + 8 * i, nearest[i].row);
                    store(values.data() + 4 * i, nearest[i].distance);
                }
            },
            "query"_a, "rows"_a, "distances"_a);
    nb::class_<CodedPartitions>(m, "CodedPartitions")
        .def(
            "__init__",
            [](CodedPartitions* self, InputBuffer items, Count num_parts, Count num_bits, Count size, bool of_products,
               bool columns) {
                new (self) CodedPartitions({items, num_parts, num_bits, size, of_products}, columns);
                self->held.push_back(std::move(items));
            },
            "items"_a, "num_parts"_a, "num_bits"_a, "size"_a, "of_products"_a, "columns"_a)
        .def(
            "add",
            [](CodedPartitions& self, InputBuffer asked, InputBuffer codes, InputBuffer rows, Count num_rows) {
                self.partitions.push_back({asked, codes, rows, num_rows});
                for (InputBuffer* each : {&asked, &codes, &rows}) self.held.push_back(std::move(*each));
            },
            "asked"_a, "codes"_a, "rows"_a, "num_rows"_a)
        .def(
            "show",
            [](const CodedPartitions& self, NearestRows& nearest, Count query, const InputBuffer& allowed) {
                Unlocked unlocked;
                return add_product_codes(nearest, query, self.book, self.partitions, self.columns, allowed);
            },
            "nearest"_a, "query"_a, "allowed"_a);
    nb::class_<QueriedWords>(m, "QueriedWords")
        .def(nb::init<>())
        .def(
            "add",
            [](QueriedWords& self, InputBuffer documents, InputBuffer ratios, InputBuffer starts, InputBuffer greatest,
               float factor, Count times) {
                self.words.push_back({documents, ratios, starts, greatest, factor, times});
                for (InputBuffer* each : {&documents, &ratios, &starts, &greatest})
                    self.held.push_back(std::move(*each));
            },
            "documents"_a, "ratios"_a, "starts"_a, "greatest"_a, "factor"_a, "times"_a)
        .def(
            "show",
            [](const QueriedWords& self, NearestRows& nearest, const InputBuffer& rows, Count num_documents,
               const InputBuffer& allowed, Count needed, Count k) {
                Unlocked unlocked;
                add_scored(nearest, self.words, rows, num_documents, allowed, needed, k);
            },
            "nearest"_a, "rows"_a, "num_documents"_a, "allowed"_a, "needed"_a, "k"_a);
    m.def("prepare_word_list", kernel(prepare_word_list), "documents"_a, "frequencies"_a, "count"_a, "norms"_a,
          "num_documents"_a, "ratios"_a, "starts"_a, "greatest"_a);
    m.def("decode_postings", kernel(decode_postings), "blocks"_a, "offsets"_a, "num_documents"_a, "block_size"_a,
          "is_varint"_a, "most_documents"_a, "documents"_a, "frequencies"_a);
    m.def(
        "vector_distances",
        [](Choice<Metric> metric, Count value_bits, Count dimension, const InputBuffer& query,
           const InputBuffer& values, Count num_rows, const OutputBuffer& out) {
            Unlocked unlocked;
            vector_distances({metric, value_bits, dimension, 1, query}, values, num_rows, out);
        },
        "metric"_a, "value_bits"_a, "dimension"_a, "query"_a, "values"_a, "num_rows"_a, "out"_a);
}

}  // namespace lance
