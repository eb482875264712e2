// Source: full text index specification, base tokenizers.
#include "search/word_dictionary.h"

#include <algorithm>

namespace lance {

namespace {

constexpr uint32_t kNumCharacters = 0x110000;
constexpr uint32_t kNone = 0xffffffff;
constexpr size_t kFirstSlots = 1 << 12;
constexpr int64_t kMostWords = int64_t{1} << 31;

// The character at `at` and the position of the next one; kNone for invalid bytes, of which one is skipped.
inline uint32_t next_character(const uint8_t*& at, const uint8_t* end) {
    const uint32_t first = *at++;
    if (first < 0x80) return first;
    const int64_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || end - at < more) return kNone;
    uint32_t character = first & (0x3fu >> more);
    for (int64_t i = 0; i < more; ++i) {
        if ((at[i] & 0xc0) != 0x80) return kNone;
        character = character << 6 | (at[i] & 0x3fu);
    }
    if (character >= kNumCharacters) return kNone;
    at += more;
    return character;
}

inline bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
}

inline uint32_t hash_of(const uint8_t* at, int64_t size) {
    uint64_t hash = 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(size);
    for (; size >= 8; at += 8, size -= 8) hash = (hash ^ load<uint64_t>(at)) * 0x9fb21c651e98df25, hash ^= hash >> 32;
    uint64_t rest = 0;
    std::memcpy(&rest, at, static_cast<size_t>(size));
    hash = (hash ^ rest) * 0x9fb21c651e98df25;
    hash = (hash ^ hash >> 29) * 0xd6e8feb86659fd93;
    return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

WordDictionary::WordDictionary(SplittingRule rule, Bytes word_characters)
    : rule_(rule), is_word_(kNumCharacters / 64), slots_(kFirstSlots), hashes_(kFirstSlots) {
    if (rule.splitting == Splitting::kNgrams && (rule.least < 1 || rule.most < rule.least || rule.most > 64)) {
        fail("parts of ", rule.least, " to ", rule.most, " characters");
    }
    for (size_t i = 0; i + 8 <= word_characters.size(); i += 8) {
        const uint32_t first = load<uint32_t>(word_characters.data() + i),
                       last = load<uint32_t>(word_characters.data() + i + 4);
        for (uint32_t c = first; c <= last && c < kNumCharacters; ++c) is_word_[c / 64] |= uint64_t{1} << (c % 64);
    }
}

void WordDictionary::add(Bytes text, Bytes offsets, int64_t num_texts) {
    require_input(offsets, multiply(num_texts + 1, 8), "offsets");
    tokens_.clear();
    ends_.clear();
    int64_t start = load<int64_t>(offsets.data());
    for (int64_t i = 0; i < num_texts; ++i) {
        const int64_t end = load<int64_t>(offsets.data() + 8 * (i + 1));
        if (start < 0 || end < start || end > size_of(text)) fail("text ", i, " at bytes ", start, " to ", end);
        const uint8_t* from = text.data() + start;
        const uint8_t* to = text.data() + end;
        switch (rule_.splitting) {
            case Splitting::kWords: split_words(from, to); break;
            case Splitting::kWhitespace: split_whitespace(from, to); break;
            case Splitting::kWhole: tokens_.push_back(number_of(from, to - from)); break;
            case Splitting::kNgrams: split_ngrams(from, to); break;
        }
        ends_.push_back(static_cast<int64_t>(tokens_.size()));
        start = end;
    }
}

void WordDictionary::split_words(const uint8_t* at, const uint8_t* end) {
    const uint8_t* start = nullptr;
    while (at < end) {
        const uint8_t* before = at;
        const uint32_t character = next_character(at, end);
        if (character != kNone && is_word(character)) {
            if (start == nullptr) start = before;
        } else if (start != nullptr) {
            tokens_.push_back(number_of(start, before - start));
            start = nullptr;
        }
    }
    if (start != nullptr) tokens_.push_back(number_of(start, end - start));
}

void WordDictionary::split_whitespace(const uint8_t* at, const uint8_t* end) {
    while (at < end) {
        while (at < end && is_space(*at)) ++at;
        const uint8_t* start = at;
        while (at < end && !is_space(*at)) ++at;
        if (start < at) tokens_.push_back(number_of(start, at - start));
    }
}

void WordDictionary::split_ngrams(const uint8_t* at, const uint8_t* end) {
    characters_.clear();
    while (at < end) {
        characters_.push_back(at);
        next_character(at, end);
    }
    characters_.push_back(end);
    const int64_t count = static_cast<int64_t>(characters_.size()) - 1;
    for (int64_t i = 0; i < (rule_.prefix_only ? std::min<int64_t>(count, 1) : count); ++i) {
        for (int64_t size = rule_.least; size <= rule_.most && i + size <= count; ++size) {
            const uint8_t* from = characters_[static_cast<size_t>(i)];
            tokens_.push_back(number_of(from, characters_[static_cast<size_t>(i + size)] - from));
        }
    }
}

uint32_t WordDictionary::number_of(const uint8_t* at, int64_t size) {
    const uint32_t hash = hash_of(at, size);
    const size_t mask = slots_.size() - 1;
    size_t slot = hash & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
        if (hashes_[slot] != hash) continue;
        const size_t number = slots_[slot] - 1;
        const int64_t start = word_ends_[number];
        if (word_ends_[number + 1] - start != size) continue;
        // there may be no bytes yet if the only word is the empty one
        if (size == 0 || std::memcmp(bytes_.data() + start, at, static_cast<size_t>(size)) == 0) {
            return static_cast<uint32_t>(number);
        }
    }
    if (num_words() >= kMostWords) fail("more than ", kMostWords, " different words");
    const auto number = static_cast<uint32_t>(num_words());
    bytes_.insert(bytes_.end(), at, at + size);
    word_ends_.push_back(static_cast<int64_t>(bytes_.size()));
    slots_[slot] = number + 1;
    hashes_[slot] = hash;
    if (2 * static_cast<size_t>(num_words()) > slots_.size()) grow();
    return number;
}

void WordDictionary::grow() {
    const std::vector<uint32_t> slots = std::move(slots_), hashes = std::move(hashes_);
    slots_.assign(2 * slots.size(), 0);
    hashes_.assign(2 * slots.size(), 0);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] == 0) continue;
        size_t slot = hashes[i] & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = slots[i];
        hashes_[slot] = hashes[i];
    }
}

}  // namespace lance
