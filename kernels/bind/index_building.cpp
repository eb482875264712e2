// Binds the kernels that build indices of vectors and words, bloom filters and checksums.
#include <nanobind/stl/optional.h>

#include "bind/python.h"
#include "bind/shared_numbers.h"
#include "search/bloom.h"
#include "search/posting_lists.h"
#include "search/vector_coding.h"
#include "search/word_dictionary.h"
#include "system/block_hasher.h"

using namespace nanobind::literals;

namespace lance {

namespace {

nb::tuple to_lists(const EncodedLists& lists) {
    return nb::make_tuple(to_bytes(lists.bytes), to_bytes(lists.item_ends), to_bytes(lists.list_ends));
}

void bind_words(nb::module_& m) {
    nb::class_<WordDictionary>(m, "WordDictionary")
        .def(
            "__init__",
            [](WordDictionary* self, Choice<Splitting> splitting, Count least, Count most, bool prefix_only,
               const InputBuffer& word_characters) {
                new (self) WordDictionary({splitting, least, most, prefix_only}, word_characters);
            },
            "splitting"_a, "least"_a, "most"_a, "prefix_only"_a, "word_characters"_a)
        .def(
            "add",
            [](WordDictionary& self, const InputBuffer& text, const InputBuffer& offsets, Count num_texts) {
                without_lock([&] { self.add(text, offsets, num_texts); });
                return nb::make_tuple(to_bytes(self.tokens()), to_bytes(self.ends()));
            },
            "text"_a, "offsets"_a, "num_texts"_a)
        .def_prop_ro("num_words", &WordDictionary::num_words)
        .def_prop_ro("num_bytes",
                     [](const WordDictionary& self) { return self.bytes().size() + 24 * self.num_words(); })
        .def(
            "words",
            [](const WordDictionary& self, Count first) {
                const int64_t from = first;
                if (from > self.num_words()) fail("there is no word ", from);
                nb::list words;
                for (int64_t i = from; i < self.num_words(); ++i) {
                    const int64_t start = self.word_ends()[static_cast<size_t>(i)];
                    const int64_t end = self.word_ends()[static_cast<size_t>(i + 1)];
                    words.append(nb::bytes(reinterpret_cast<const char*>(self.bytes().data()) + start,
                                           static_cast<size_t>(end - start)));
                }
                return words;
            },
            "first"_a);
    nb::class_<PostingLists>(m, "PostingLists")
        .def(nb::init<bool, bool>(), "has_positions"_a, "has_no_order"_a)
        .def(
            "add",
            [](PostingLists& self, const InputBuffer& tokens, const InputBuffer& ends, Count num_texts,
               const InputBuffer& words, const OutputBuffer& is_document) {
                Unlocked unlocked;
                self.add(tokens, ends, num_texts, words, is_document);
            },
            "tokens"_a, "ends"_a, "num_texts"_a, "words"_a, "is_document"_a)
        .def_prop_ro("num_bytes", &PostingLists::num_bytes)
        .def_prop_ro("num_words", &PostingLists::num_words)
        .def_prop_ro("num_documents", &PostingLists::num_documents)
        .def("lengths", [](const PostingLists& self) { return to_bytes(self.lengths()); })
        .def(
            "encode",
            [](const PostingLists& self, const InputBuffer& order) {
                const Bytes words = order;
                EncodedPostings lists = without_lock([&] { return self.encode(words); });
                return nb::make_tuple(to_lists(lists.blocks), to_lists(lists.impacts), to_bytes(lists.max_scores),
                                      to_bytes(lists.counts), to_bytes(lists.positions), to_bytes(lists.position_ends),
                                      to_bytes(lists.position_starts), to_bytes(lists.position_list_ends));
            },
            "order"_a);
    m.def(
        "token_set",
        [](const InputBuffer& words, const InputBuffer& ends, Count num_words) {
            return to_bytes(without_lock([&] { return token_set(words, ends, num_words); }));
        },
        "words"_a, "ends"_a, "num_words"_a);
}

}  // namespace

void bind_index_building(nb::module_& m) {
    bind_words(m);
    m.def(
        "nearest_centroids",
        [](const InputBuffer& rows, Count num_rows, Count stride, Count first, const InputBuffer& centroids,
           Count num_centroids, Count dimension, const OutputBuffer& numbers,
           const std::optional<OutputBuffer>& distances) {
            Unlocked unlocked;
            nearest_centroids(rows, num_rows, stride, first, centroids, num_centroids, dimension, numbers,
                              distances ? MutableBytes(*distances) : MutableBytes());
        },
        "rows"_a, "num_rows"_a, "stride"_a, "first"_a, "centroids"_a, "num_centroids"_a, "dimension"_a, "numbers"_a,
        "distances"_a);
    m.def("sum_by_centroid", kernel(sum_by_centroid), "rows"_a, "num_rows"_a, "stride"_a, "first"_a, "dimension"_a,
          "numbers"_a, "num_centroids"_a, "sums"_a, "counts"_a);
    m.def("product_codes", kernel(product_codes), "rows"_a, "num_rows"_a, "dimension"_a, "codebook"_a, "num_parts"_a,
          "num_bits"_a, "out"_a);
    m.def("rotate", kernel(rotate), "rows"_a, "num_rows"_a, "dimension"_a, "signs"_a, "out"_a);
    m.def(
        "rotated_bits",
        [](const InputBuffer& rows, Count num_rows, Count dimension, const InputBuffer& numbers,
           const InputBuffer& centroids, Count num_centroids, Count num_bits, bool of_products,
           const OutputBuffer& out) {
            Unlocked unlocked;
            rotated_bits({rows, num_rows, dimension, numbers, centroids, num_centroids}, num_bits, of_products, out);
        },
        "rows"_a, "num_rows"_a, "dimension"_a, "numbers"_a, "centroids"_a, "num_centroids"_a, "num_bits"_a,
        "of_products"_a, "out"_a);
}

namespace {

// Less is hashed sooner than the lock is given back.
constexpr size_t kLongData = 256 * 1024;

}  // namespace

void bind_bloom(nb::module_& m) {
    nb::class_<BlockHasher>(m, "BlockHasher", nb::is_final())
        .def(nb::init<Count>(), "block_bytes"_a)
        .def(
            "update",
            [](BlockHasher& self, const InputBuffer& data) {
                const Bytes bytes = data;
                if (bytes.size() < kLongData) {
                    self.update(bytes);
                } else {
                    Unlocked unlocked;
                    self.update(bytes);
                }
            },
            "data"_a)
        .def("finish", [](const BlockHasher& self) { return to_bytes(self.finish()); });
    m.def("hash_fixed", kernel(hash_fixed), "values"_a, "width"_a, "num_values"_a, "out"_a);
    m.def("hash_strings", kernel(hash_strings), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "out"_a);
    m.def("bloom_insert", kernel(bloom_insert), "hashes"_a, "filter"_a);
}

}  // namespace lance
