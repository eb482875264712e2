// FSST: a symbol table for a sample of the strings. Round after round the sample is encoded with the table so far, and
// symbols that often follow each other become one.
#include <algorithm>
#include <unordered_map>

#include "encodings/fsst_symbols.h"
#include "encodings/variable.h"

namespace lance {

namespace {

constexpr int kRounds = 5;

// Counts of symbols, of bytes without one (256 + byte), and of pairs in the encoded sample.
class Counts {
  public:
    static constexpr int kBytes = 256;
    static constexpr int kUnits = 512;

    Counts() : ones_(kUnits), pairs_(kUnits * kUnits) {}

    void clear() {
        std::fill(ones_.begin(), ones_.end(), 0);
        std::fill(pairs_.begin(), pairs_.end(), 0);
    }
    void one(int unit) { ++ones_[unit]; }
    void pair(int first, int second) { ++pairs_[first * kUnits + second]; }
    uint32_t ones(int unit) const { return ones_[unit]; }
    uint32_t pairs(int first, int second) const { return pairs_[first * kUnits + second]; }

  private:
    std::vector<uint32_t> ones_;
    std::vector<uint32_t> pairs_;
};

using Sample = std::vector<Bytes>;

void count(const Matcher& matcher, const Sample& sample, bool with_pairs, Counts& counts) {
    for (const Bytes value : sample) {
        const uint8_t* at = value.data();
        const uint8_t* end = at + value.size();
        int previous = -1;
        while (at < end) {
            const Matcher::Match match = matcher.next(word_at(at, end), end - at);
            const int unit = match.code() == kEscape ? Counts::kBytes + *at : match.code();
            counts.one(unit);
            // not to make the symbol longer, but to start over at its first byte, is the other choice
            if (match.length() > 1) counts.one(Counts::kBytes + *at);
            if (with_pairs && previous >= 0) {
                counts.pair(previous, unit);
                if (match.length() > 1) counts.pair(previous, Counts::kBytes + *at);
            }
            previous = unit;
            at += match.length();
        }
    }
}

Symbol symbol_of(const Matcher& matcher, int unit) {
    if (unit >= Counts::kBytes) return {static_cast<uint64_t>(unit - Counts::kBytes), 1};
    return matcher.symbols()[static_cast<size_t>(unit)];
}

Symbol join(const Symbol& first, const Symbol& second) {
    const int length = std::min(first.length + second.length, 8);
    Symbol both{first.bytes | second.bytes << 8 * first.length, length};
    both.bytes &= both.mask();
    return both;
}

struct Candidate {
    Symbol symbol;
    uint64_t gain;
};

// The symbols, bytes and pairs of them that save the most.
Matcher best(const Matcher& matcher, const Counts& counts, uint32_t fewest, bool with_pairs) {
    std::unordered_map<uint64_t, Candidate> gains[2];  // by the bytes; symbols of 8 bytes apart from shorter ones
    const auto add = [&](const Symbol& symbol, uint64_t times) {
        const uint64_t key =
            symbol.length == 8 ? symbol.bytes : symbol.bytes | static_cast<uint64_t>(symbol.length) << 56;
        Candidate& candidate = gains[symbol.length == 8][key];
        candidate.symbol = symbol;
        candidate.gain += times * static_cast<uint64_t>(symbol.length);
    };
    for (int unit = 0; unit < Counts::kUnits; ++unit) {
        const uint32_t times = counts.ones(unit);
        if (times < fewest) continue;
        const Symbol symbol = symbol_of(matcher, unit);
        // a byte without a symbol takes two: what saves that counts more than what it is long
        add(symbol, symbol.length == 1 ? 8 * uint64_t{times} : times);
        if (!with_pairs || symbol.length == 8) continue;
        for (int next = 0; next < Counts::kUnits; ++next) {
            const uint32_t together = counts.pairs(unit, next);
            if (together >= fewest) add(join(symbol, symbol_of(matcher, next)), together);
        }
    }
    std::vector<Candidate> all;
    for (const auto& part : gains) {
        for (const auto& [key, candidate] : part) all.push_back(candidate);
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        if (a.gain != b.gain) return a.gain > b.gain;
        return a.symbol.bytes != b.symbol.bytes ? a.symbol.bytes < b.symbol.bytes : a.symbol.length < b.symbol.length;
    });
    Matcher made;
    for (const Candidate& candidate : all) {
        if (made.symbols().size() == kMaxSymbols) break;
        made.add(candidate.symbol);
    }
    return made;
}

// Values from the whole range, up to about sample_bytes.
template <class Offset>
Sample sample_of(Bytes offsets, int64_t num_values, Bytes data, int64_t sample_bytes) {
    constexpr int64_t width = sizeof(Offset);
    check_offsets<Offset>(offsets, num_values, size_of(data));
    const auto offset = [&](int64_t i) { return static_cast<int64_t>(load<Offset>(offsets.data() + i * width)); };
    const int64_t total = offset(num_values) - offset(0);
    Sample sample;
    const int64_t step = std::max<int64_t>(total / std::max<int64_t>(sample_bytes, 1), 1);
    // of long values a part each, so that many of them are seen
    constexpr int64_t kPiece = 512;
    int64_t due = 0;
    for (int64_t i = 0; i < num_values; ++i) {
        int64_t at = offset(i);
        while (at < offset(i + 1)) {
            const int64_t size = std::min(kPiece, offset(i + 1) - at);
            if (due <= 0) {
                sample.push_back(data.subspan(static_cast<size_t>(at), static_cast<size_t>(size)));
                due += size * step;
            }
            due -= size;
            at += size;
        }
    }
    return sample;
}

}  // namespace

void fsst_train(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, int64_t sample_bytes,
                MutableBytes out) {
    require_output(out, kSymbolTableBytes);
    const Sample sample = with_offset(
        offset_bits, [&](auto offset) { return sample_of<decltype(offset)>(offsets, num_values, data, sample_bytes); });
    int64_t total = 0;
    for (const Bytes value : sample) total += size_of(value);
    Matcher matcher;
    Counts counts;
    for (int round = 0; round < kRounds; ++round) {
        const bool with_pairs = round + 1 < kRounds;
        counts.clear();
        count(matcher, sample, with_pairs, counts);
        matcher = best(matcher, counts, static_cast<uint32_t>(std::max<int64_t>(total >> 13, 2)), with_pairs);
    }
    write_symbols(matcher, out.first(kSymbolTableBytes));
}

}  // namespace lance
