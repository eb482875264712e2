// Symbols of FSST for encoding: finds the next symbol, and stores tables as bytes. See fsst.h for the format. Source:
// Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression", VLDB 2020
#pragma once

#include <array>
#include <vector>

#include "encodings/encode.h"
#include "system/bits.h"

namespace lance {

inline constexpr int kMaxSymbols = 255;
inline constexpr int kEscape = 255;

struct Symbol {
    uint64_t bytes = 0;  // zeros after the last
    int length = 0;

    uint64_t mask() const { return low_bits(8 * length); }
};

// The bytes at `at` as a word, padded with zeros after `end`.
inline uint64_t word_at(const uint8_t* at, const uint8_t* end) {
    if (end - at >= 8) return load<uint64_t>(at);
    uint64_t word = 0;
    copy(reinterpret_cast<uint8_t*>(&word), at, end - at);
    return word;
}

// Finds a symbol that the next bytes begin with: by a hash of three bytes for the longer ones, by the first two bytes
// for the others. Longer symbols with one hash are dropped if their bucket is full.
class Matcher {
  public:
    Matcher() : shorts_(1 << 16, Match(kEscape, 1)), singles_(256, Match(kEscape, 1)) {
        for (Entry& entry : buckets_[slot(kNothing)]) entry.bytes = 0;
    }

    // False: no room for the symbol.
    bool add(const Symbol& symbol) {
        const int code = static_cast<int>(symbols_.size());
        const int length = symbol.length;
        if (length >= 3) {
            Bucket& bucket = buckets_[slot(symbol.bytes)];
            int at = 0;
            while (at < kWays && bucket[at].match.length() > 0) ++at;
            if (at == kWays) return false;
            // the longest first
            while (at > 0 && bucket[at - 1].match.length() < length) {
                bucket[at] = bucket[at - 1];
                --at;
            }
            bucket[at] = {symbol.bytes, symbol.mask(), {code, length}};
        } else if (length == 2) {
            shorts_[symbol.bytes & 0xFFFF] = {code, 2};
        } else {
            singles_[symbol.bytes & 0xFF] = {code, 1};
            for (int second = 0; second < 256; ++second) {
                Match& match = shorts_[(symbol.bytes & 0xFF) | second << 8];
                if (match.length() == 1) match = {code, 1};
            }
        }
        symbols_.push_back(symbol);
        return true;
    }

    const std::vector<Symbol>& symbols() const { return symbols_; }

    // One word, so that one instruction chooses it.
    struct Match {
        uint32_t code_and_length;

        Match(int code, int length) : code_and_length(static_cast<uint32_t>(code | length << 8)) {}
        uint8_t code() const { return static_cast<uint8_t>(code_and_length); }  // kEscape: none
        int64_t length() const { return code_and_length >> 8; }
    };

    // For a word of 8 bytes that all count. Chosen without branches: the next symbol cannot be predicted.
    Match next(uint64_t word) const {
        Match match = shorts_[word & 0xFFFF];
        const Bucket& bucket = buckets_[slot(word)];
        for (int way = kWays - 1; way >= 0; --way) {
            const Entry& entry = bucket[way];
            const uint32_t misses = static_cast<uint32_t>(((word ^ entry.bytes) & entry.mask) == 0) - 1;
            match.code_and_length = (match.code_and_length & misses) | (entry.match.code_and_length & ~misses);
        }
        return match;
    }

    // For a word of which the first `room` bytes count.
    Match next(uint64_t word, int64_t room) const {
        for (const Entry& entry : buckets_[slot(word)]) {
            if (((word ^ entry.bytes) & entry.mask) == 0 && entry.match.length() <= room) return entry.match;
        }
        return room < 2 ? singles_[word & 0xFF] : shorts_[word & 0xFFFF];
    }

  private:
    static constexpr int kWays = 2;
    static constexpr int kLog2Buckets = 11;

    // An empty entry matches one word only, and that is a word of another bucket.
    struct Entry {
        uint64_t bytes = kNothing;
        uint64_t mask = kNothing;
        Match match{kEscape, 0};
    };
    using Bucket = std::array<Entry, kWays>;
    static constexpr uint64_t kNothing = ~uint64_t{0};

    static constexpr size_t slot(uint64_t word) {
        return ((word & 0xFFFFFF) * 0x9E3779B1u >> 15) & ((1 << kLog2Buckets) - 1);
    }

    std::array<Bucket, 1 << kLog2Buckets> buckets_;
    std::vector<Match> shorts_;
    std::vector<Match> singles_;
    std::vector<Symbol> symbols_;
};

// The table as it is stored, and back.
void write_symbols(const Matcher& matcher, MutableBytes out);
Matcher read_symbols(Bytes table);

}  // namespace lance
