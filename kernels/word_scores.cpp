// Source: BM25.
#include "word_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

namespace lance {

namespace {

// Sums are rounded, each time by less than this part.
constexpr float kSlack = 1.00001f;

int64_t num_windows(int64_t num_documents) { return (num_documents + kWindowDocuments - 1) / kWindowDocuments; }

// What a list has in a window. chooses: documents without any of the words that do are not among the best.
struct Part {
    int64_t at, end;
    float bound;
    bool chooses;
};

inline int64_t place_of(const WordList& word, int64_t i, int64_t first, int64_t size) {
    const auto place = static_cast<uint64_t>(int64_t{load<uint32_t>(word.documents.data() + 4 * i)} - first);
    if (place >= static_cast<uint64_t>(size)) fail("a document of another window than that of ", first);
    return static_cast<int64_t>(place);
}

inline void add(const WordList& word, int64_t i, float& score) {
    const float weight = word.factor * load<float>(word.ratios.data() + 4 * i);
    score += weight;
    for (int64_t time = 1; time < word.times; ++time) score += weight;
}

// Where the documents of a window begin in a list, and where they end.
inline std::pair<int64_t, int64_t> part_of(const WordList& word, int64_t window) {
    const int64_t at = load<uint32_t>(word.starts.data() + 4 * window);
    const int64_t end = load<uint32_t>(word.starts.data() + 4 * (window + 1));
    if (at > end || end > size_of(word.documents) / 4) fail("documents ", at, " to ", end, " of a word");
    return {at, end};
}

// The first place from `from` on whose document is not below.
inline int64_t first_from(Bytes documents, int64_t from, int64_t end, int64_t document) {
    while (from < end) {
        const int64_t middle = from + (end - from) / 2;
        if (load<uint32_t>(documents.data() + 4 * middle) < document) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

}  // namespace

void prepare_word_list(Bytes documents, Bytes frequencies, int64_t count, Bytes norms, int64_t num_documents,
                       MutableBytes ratios, MutableBytes starts, MutableBytes greatest) {
    require_input(documents, multiply(count, 4), "documents");
    require_input(frequencies, multiply(count, 4), "frequencies");
    require_input(norms, multiply(num_documents, 4), "norms");
    require_output(ratios, multiply(count, 4), "ratios");
    const int64_t windows = num_windows(num_documents);
    require_output(starts, multiply(windows + 1, 4), "starts");
    require_output(greatest, multiply(windows, 4), "greatest");
    int64_t i = 0;
    for (int64_t window = 0; window < windows; ++window) {
        const int64_t end = std::min((window + 1) * kWindowDocuments, num_documents);
        store(starts.data() + 4 * window, static_cast<uint32_t>(i));
        float most = 0;
        for (; i < count; ++i) {
            const int64_t document = load<uint32_t>(documents.data() + 4 * i);
            if (document >= end) break;
            const auto frequency = static_cast<float>(load<uint32_t>(frequencies.data() + 4 * i));
            // in this order, so that every bit is that of the releases that wrote the list
            const float ratio = (1.2f + 1.0f) * frequency / (frequency + load<float>(norms.data() + 4 * document));
            store(ratios.data() + 4 * i, ratio);
            most = std::max(most, ratio);
        }
        store(greatest.data() + 4 * window, most);
    }
    if (i < count) fail("document ", load<uint32_t>(documents.data() + 4 * i), " of ", num_documents);
    store(starts.data() + 4 * windows, static_cast<uint32_t>(i));
}

void add_scored(NearestRows& nearest, const std::vector<WordList>& words, Bytes rows, int64_t num_documents,
                Bytes allowed, int64_t needed, int64_t k) {
    require_input(rows, multiply(num_documents, 8), "rows");
    if (words.size() > 1 << 16) fail(words.size(), " words");
    const int64_t windows = num_windows(num_documents);
    for (const WordList& word : words) {
        require_input(word.starts, multiply(windows + 1, 4), "starts");
        require_input(word.greatest, multiply(windows, 4), "greatest");
        require_input(word.ratios, size_of(word.documents), "ratios");
        if (word.times < 1 || word.times > (1 << 16)) fail("a word ", word.times, " times");
    }
    // the scores of the k best so far, the least in front
    std::vector<float> best;
    const size_t most = k == 0 ? 0 : static_cast<size_t>(std::min<int64_t>(k, num_documents));
    float threshold = -1;
    float scores[kWindowDocuments];
    uint16_t counts[kWindowDocuments];
    uint8_t marks[kWindowDocuments];
    int32_t marked[kWindowDocuments + 1];
    int64_t num_marked = 0;
    std::vector<Part> parts(words.size());
    std::vector<size_t> by_bound(words.size());
    const int64_t num_rows = size_of(allowed);
    const auto show = [&](int64_t document, float score) {
        if (!(score > 0) || score < threshold) return;
        const int64_t row = load<int64_t>(rows.data() + 8 * document);
        if (row < 0 || row >= num_rows || allowed[static_cast<size_t>(row)] == 0) return;
        nearest.add(0, -score, static_cast<uint64_t>(row));
        if (most == 0) return;
        if (best.size() < most) {
            best.push_back(score);
            std::push_heap(best.begin(), best.end(), std::greater<>());
        } else if (score > best.front()) {
            std::pop_heap(best.begin(), best.end(), std::greater<>());
            best.back() = score;
            std::push_heap(best.begin(), best.end(), std::greater<>());
        }
        if (best.size() == most) threshold = best.front();
    };
    for (int64_t window = 0; window < windows; ++window) {
        float bound = 0;
        int64_t having = 0;
        const WordList* last = nullptr;
        for (const WordList& word : words) {
            const float greatest = load<float>(word.greatest.data() + 4 * window);
            bound += static_cast<float>(word.times) * word.factor * greatest;
            if (greatest > 0) {
                ++having;
                last = &word;
            }
        }
        if (having == 0 || having < needed || bound * kSlack < threshold) continue;
        const int64_t first = window * kWindowDocuments, size = std::min(kWindowDocuments, num_documents - first);
        if (having == 1) {
            const auto [at, end] = part_of(*last, window);
            for (int64_t i = at; i < end; ++i) {
                float score = 0;
                add(*last, i, score);
                show(first + place_of(*last, i, first, size), score);
            }
            continue;
        }
        int64_t most_of_others = 0;
        for (size_t w = 0; w < words.size(); ++w) {
            Part& part = parts[w];
            std::tie(part.at, part.end) = part_of(words[w], window);
            part.bound = static_cast<float>(words[w].times) * words[w].factor * load<float>(words[w].greatest.data() + 4 * window);
            part.chooses = true;
            // they are sorted
            if (std::isnan(part.bound)) part.bound = std::numeric_limits<float>::infinity();
            by_bound[w] = w;
        }
        // documents with nothing but the words of the least bounds cannot be among the best
        std::sort(by_bound.begin(), by_bound.end(), [&](size_t a, size_t b) { return parts[a].bound < parts[b].bound; });
        float least = 0;
        for (const size_t w : by_bound) {
            least += parts[w].bound;
            if (least * kSlack >= threshold) break;
            parts[w].chooses = false;
            most_of_others += parts[w].end - parts[w].at;
        }
        std::fill_n(scores, size, 0.0f);
        if (needed > 1) std::fill_n(counts, size, uint16_t{0});
        const bool has_marks = most_of_others > 0;
        if (has_marks) {
            std::fill_n(marks, size, uint8_t{0});
            for (size_t w = 0; w < words.size(); ++w) {
                for (int64_t i = parts[w].at; parts[w].chooses && i < parts[w].end; ++i) marks[place_of(words[w], i, first, size)] = 1;
            }
            num_marked = 0;
            for (int64_t i = 0; i < size; ++i) {
                marked[num_marked] = static_cast<int32_t>(i);
                num_marked += marks[i];
            }
        }
        for (size_t w = 0; w < words.size(); ++w) {
            const WordList& word = words[w];
            int64_t i = parts[w].at;
            if (!parts[w].chooses && num_marked * 8 < parts[w].end - i) {
                // few of them: each is looked for behind the one before
                for (int64_t m = 0; m < num_marked && i < parts[w].end; ++m) {
                    i = first_from(word.documents, i, parts[w].end, first + marked[m]);
                    if (i < parts[w].end && load<uint32_t>(word.documents.data() + 4 * i) == first + marked[m]) {
                        add(word, i, scores[marked[m]]);
                        if (needed > 1) ++counts[marked[m]];
                    }
                }
                continue;
            }
            for (; i < parts[w].end; ++i) {
                const int64_t place = place_of(word, i, first, size);
                add(word, i, scores[place]);
                if (needed > 1) ++counts[place];
            }
        }
        float most_here = 0;
        for (int64_t i = 0; i < size; ++i) most_here = std::max(most_here, scores[i]);
        if (most_here < threshold) continue;
        for (int64_t i = 0; i < size; ++i) {
            if (needed <= 1 || counts[i] >= needed) show(first + i, scores[i]);
        }
    }
}

}  // namespace lance
