// Source: BM25.
#include "search/word_scores.h"

#include <algorithm>
#include <array>
#include <bit>
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

// Documents of a list in a window. chooses: documents without any choosing word are not among the best.
struct Part {
    int64_t at, end;
    float bound;
    bool chooses;
};

inline int64_t place_of(const WordList& word, int64_t i, int64_t first, int64_t size) {
    const auto offset = static_cast<uint64_t>(int64_t{load<uint32_t>(word.documents.data() + 4 * i)} - first);
    if (offset >= static_cast<uint64_t>(size)) fail("a document of another window than that of ", first);
    return static_cast<int64_t>(offset);
}

inline void add(const WordList& word, int64_t i, float& score) {
    const float weight = word.factor * load<float>(word.ratios.data() + 4 * i);
    score += weight;
    for (int64_t time = 1; time < word.times; ++time) score += weight;
}

// Start and end of the documents of a window in a list.
inline std::pair<int64_t, int64_t> part_of(const WordList& word, int64_t window) {
    const int64_t at = load<uint32_t>(word.starts.data() + 4 * window);
    const int64_t end = load<uint32_t>(word.starts.data() + 4 * (window + 1));
    if (at > end || end > size_of(word.documents) / 4) fail("documents ", at, " to ", end, " of a word");
    return {at, end};
}

// The first index from `from` on whose document is not below.
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

// The documents of some words, window by window.
class Scorer {
  public:
    Scorer(NearestRows& nearest, const std::vector<WordList>& words, Bytes rows, int64_t num_documents, Bytes allowed,
           int64_t needed, int64_t k)
        : nearest_(nearest),
          words_(words),
          rows_(rows),
          num_documents_(num_documents),
          allowed_(allowed),
          num_rows_(size_of(allowed)),
          needed_(needed),
          most_(k == 0 ? 0 : static_cast<size_t>(std::min(k, num_documents))),
          parts_(words.size()),
          by_bound_(words.size()) {}

    void add_window(int64_t window) {
        float bound = 0;
        int64_t having = 0;
        size_t last = 0;
        for (size_t w = 0; w < words_.size(); ++w) {
            const float most = bound_of(w, window);
            bound += most;
            if (most > 0) {
                ++having;
                last = w;
            }
        }
        if (having == 0 || having < needed_ || bound * kSlack < threshold_) return;
        first_ = window * kWindowDocuments;
        size_ = std::min(kWindowDocuments, num_documents_ - first_);
        if (having == 1) {
            add_word(words_[last], window);
            return;
        }
        const float most_of_others = choose(window);
        if (most_of_others > 0) {
            add_chosen(most_of_others);
        } else {
            add_all();
        }
    }

  private:
    float bound_of(size_t w, int64_t window) const {
        const WordList& word = words_[w];
        return static_cast<float>(word.times) * word.factor * load<float>(word.greatest.data() + 4 * window);
    }

    void show(int64_t offset, float score) {
        if (!(score > 0) || score < threshold_) return;
        const int64_t row = load<int64_t>(rows_.data() + 8 * (first_ + offset));
        if (row < 0 || row >= num_rows_ || allowed_[static_cast<size_t>(row)] == 0) return;
        nearest_.add(0, -score, static_cast<uint64_t>(row));
        if (most_ == 0) return;
        if (best_.size() < most_) {
            best_.push_back(score);
            std::push_heap(best_.begin(), best_.end(), std::greater<>());
        } else if (score > best_.front()) {
            std::pop_heap(best_.begin(), best_.end(), std::greater<>());
            best_.back() = score;
            std::push_heap(best_.begin(), best_.end(), std::greater<>());
        }
        if (best_.size() == most_) threshold_ = best_.front();
    }

    // For windows in which only one word has documents.
    void add_word(const WordList& word, int64_t window) {
        const auto [at, end] = part_of(word, window);
        for (int64_t i = at; i < end; ++i) {
            float score = 0;
            add(word, i, score);
            show(place_of(word, i, first_, size_), score);
        }
    }

    // The choosing words: documents with none of them, only words with the lowest bounds, cannot be among the best.
    // Returns the maximum that the others add.
    float choose(int64_t window) {
        for (size_t w = 0; w < words_.size(); ++w) {
            Part& part = parts_[w];
            std::tie(part.at, part.end) = part_of(words_[w], window);
            part.bound = bound_of(w, window);
            part.chooses = true;
            // they are sorted
            if (std::isnan(part.bound)) part.bound = std::numeric_limits<float>::infinity();
            by_bound_[w] = w;
        }
        std::sort(by_bound_.begin(), by_bound_.end(),
                  [this](size_t a, size_t b) { return parts_[a].bound < parts_[b].bound; });
        float least = 0;
        for (const size_t w : by_bound_) {
            if ((least + parts_[w].bound) * kSlack >= threshold_) break;
            least += parts_[w].bound;
            parts_[w].chooses = false;
        }
        return least;
    }

    void add_all() {
        std::fill_n(scores_, size_, 0.0f);
        if (needed_ > 1) std::fill_n(counts_, size_, uint16_t{0});
        for (size_t w = 0; w < words_.size(); ++w) {
            for (int64_t i = parts_[w].at; i < parts_[w].end; ++i) {
                const int64_t offset = place_of(words_[w], i, first_, size_);
                add(words_[w], i, scores_[offset]);
                if (needed_ > 1) ++counts_[offset];
            }
        }
        float most = 0;
        for (int64_t i = 0; i < size_; ++i) most = std::max(most, scores_[i]);
        if (most < threshold_) return;
        for (int64_t i = 0; i < size_; ++i) {
            if (needed_ <= 1 || counts_[i] >= needed_) show(i, scores_[i]);
        }
    }

    // First what the words that choose add, then the sums of those documents that can still be among the best.
    void add_chosen(float most_of_others) {
        std::fill_n(scores_, size_, 0.0f);
        std::array<uint64_t, kWindowDocuments / 64> bits{};
        for (size_t w = 0; w < words_.size(); ++w) {
            for (int64_t i = parts_[w].at; parts_[w].chooses && i < parts_[w].end; ++i) {
                const int64_t offset = place_of(words_[w], i, first_, size_);
                add(words_[w], i, scores_[offset]);
                bits[static_cast<size_t>(offset / 64)] |= uint64_t{1} << (offset % 64);
            }
        }
        size_t num_left = 0;
        for (size_t b = 0; b < bits.size(); ++b) {
            for (uint64_t rest = bits[b]; rest != 0; rest &= rest - 1) {
                const auto offset = static_cast<int32_t>(64 * b + static_cast<size_t>(std::countr_zero(rest)));
                left_[num_left] = offset;
                num_left += !((scores_[offset] + most_of_others) * kSlack < threshold_);
            }
        }
        for (size_t j = 0; j < num_left; ++j) scores_[left_[j]] = 0;
        if (needed_ > 1) std::fill_n(counts_, num_left, uint16_t{0});
        // in the order of the words, so that every bit equals that of a sum over all of them
        for (size_t w = 0; w < words_.size() && num_left > 0; ++w) add_to_left(words_[w], parts_[w], num_left);
        for (size_t j = 0; j < num_left; ++j) {
            if (needed_ <= 1 || counts_[j] >= needed_) show(left_[j], scores_[left_[j]]);
        }
    }

    void add_to_left(const WordList& word, const Part& part, size_t num_left) {
        int64_t i = part.at;
        // few of them: each search starts after the previous result
        const bool are_few = static_cast<int64_t>(num_left) * 8 < part.end - i;
        for (size_t j = 0; j < num_left && i < part.end; ++j) {
            const int64_t document = first_ + left_[j];
            if (are_few) {
                i = first_from(word.documents, i, part.end, document);
            } else {
                while (i < part.end && load<uint32_t>(word.documents.data() + 4 * i) < document) ++i;
            }
            if (i < part.end && load<uint32_t>(word.documents.data() + 4 * i) == document) {
                add(word, i, scores_[left_[j]]);
                if (needed_ > 1) ++counts_[j];
            }
        }
    }

    NearestRows& nearest_;
    const std::vector<WordList>& words_;
    const Bytes rows_;
    const int64_t num_documents_;
    const Bytes allowed_;
    const int64_t num_rows_, needed_;
    const size_t most_;
    // the scores of the k best so far, the least in front
    std::vector<float> best_;
    float threshold_ = -1;
    std::vector<Part> parts_;
    std::vector<size_t> by_bound_;
    // of the window
    int64_t first_ = 0, size_ = 0;
    float scores_[kWindowDocuments];
    uint16_t counts_[kWindowDocuments];
    // offsets of documents that can still be among the best; one more is written than there are
    int32_t left_[kWindowDocuments + 1];
};

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
            // in this order, so that every bit equals that of the releases that wrote the list
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
    Scorer scorer(nearest, words, rows, num_documents, allowed, needed, k);
    for (int64_t window = 0; window < windows; ++window) scorer.add_window(window);
}

}  // namespace lance
