// Documents in the order of their scores for some words.
#pragma once

#include <vector>

#include "search/nearest.h"
#include "system/bytes.h"

namespace lance {

// Documents are scored in windows of this many numbers: the maximum that a list adds in each is known in advance.
inline constexpr int64_t kWindowDocuments = 512;

// Input of scores for a list of documents, u32 ascending, with frequencies, u32: ratios[i], f32 = 2.2 * f / (f + norm)
// with the norm, f32, of the document. starts: u32, the first document of each window, and the end of the last one;
// greatest: f32, the greatest ratio in each window.
void prepare_word_list(Bytes documents, Bytes frequencies, int64_t count, Bytes norms, int64_t num_documents,
                       MutableBytes ratios, MutableBytes starts, MutableBytes greatest);

// The list of a word of a query, prepared. factor: of ratios. times: places of the query that have the word.
struct WordList {
    Bytes documents, ratios, starts, greatest;
    float factor;
    int64_t times;
};

// Shows rows to `nearest` with their negative scores: for each document the sum of factor * ratio over its words, in
// their order. rows: i64, the row of each document, negative for one that does not count; byte r of `allowed`: whether
// row r does. needed: words that a document has at least. Only the k best of those that are shown are sure to be.
void add_scored(NearestRows& nearest, const std::vector<WordList>& words, Bytes rows, int64_t num_documents,
                Bytes allowed, int64_t needed, int64_t k);

}  // namespace lance
