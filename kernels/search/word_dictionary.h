// Splits texts into words, each distinct one with a number; and the transducer of a set of words.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "system/bytes.h"

namespace lance {

enum class Splitting : int {
    kWords = 0,       // runs of characters of words
    kWhitespace = 1,  // text between tabs, line ends and spaces
    kWhole = 2,       // a text is one word, an empty one too
    kNgrams = 3,      // all substrings of this many characters
};

struct SplittingRule {
    Splitting splitting = Splitting::kWords;
    int64_t least = 3, most = 3;  // characters, of kNgrams
    bool prefix_only = false;     // of kNgrams: those at the beginning
};

// The distinct words of all texts that it was shown, numbered as they came. Not for several threads at once.
class WordDictionary {
  public:
    // word_characters: u32 pairs, the first and the last of each range of code points.
    WordDictionary(SplittingRule rule, Bytes word_characters);

    // Takes texts apart: text i is bytes offsets[i] to offsets[i + 1] of `text`, offsets of i64 that ascend. Damaged
    // UTF-8 stands between words.
    void add(Bytes text, Bytes offsets, int64_t num_texts);

    // Of the last add: the numbers of the words of all texts, and the end of each text.
    const std::vector<uint32_t>& tokens() const { return tokens_; }
    const std::vector<int64_t>& ends() const { return ends_; }

    int64_t num_words() const { return static_cast<int64_t>(word_ends_.size()) - 1; }
    // The bytes of all words, the start of each, and the end of the last one.
    const std::vector<uint8_t>& bytes() const { return bytes_; }
    const std::vector<int64_t>& word_ends() const { return word_ends_; }

  private:
    bool is_word(uint32_t character) const { return is_word_[character / 64] >> (character % 64) & 1; }
    uint32_t number_of(const uint8_t* at, int64_t size);
    void grow();

    void split_words(const uint8_t* at, const uint8_t* end);
    void split_whitespace(const uint8_t* at, const uint8_t* end);
    void split_ngrams(const uint8_t* at, const uint8_t* end);

    SplittingRule rule_;
    std::vector<uint64_t> is_word_;
    std::vector<uint32_t> tokens_;
    std::vector<int64_t> ends_;
    std::vector<uint8_t> bytes_;
    std::vector<int64_t> word_ends_{0};
    // 0, or the number of a word and one; a power of two of them, with the hash of each
    std::vector<uint32_t> slots_;
    std::vector<uint32_t> hashes_;
    std::vector<const uint8_t*> characters_;
};

// The bytes of the transducer of words in the order of their bytes, without two of the same: word i is bytes ends[i] to
// ends[i + 1] of `words`, ends of i64, and has the number i.
std::vector<uint8_t> token_set(Bytes words, Bytes ends, int64_t num_words);

}  // namespace lance
