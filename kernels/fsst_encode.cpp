// FSST: making a symbol table for a sample, and encoding with one. See fsst.h for codes and tables.
// Source: Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression", VLDB 2020
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "encode.h"
#include "variable.h"

namespace lance {

namespace {

constexpr int kMaxSymbols = 255;
constexpr int kEscape = 255;
constexpr int kRounds = 5;
constexpr uint64_t kMagic = uint64_t{0x46535354} << 32;
constexpr uint64_t kInUse = uint64_t{1} << 24;

struct Symbol {
    uint64_t bytes = 0;  // zeros behind the last
    int length = 0;

    uint64_t mask() const { return low_bits(8 * length); }
};

// The bytes at `at` as a word; behind `end` there are zeros.
inline uint64_t word_at(const uint8_t* at, const uint8_t* end) {
    if (end - at >= 8) return load<uint64_t>(at);
    uint64_t word = 0;
    copy(reinterpret_cast<uint8_t*>(&word), at, end - at);
    return word;
}

// Finds a symbol that the next bytes begin with: by a hash of three bytes for the longer ones, by the first two bytes
// for the others. Of longer symbols with one hash only those that fit into a bucket are kept.
class Matcher {
  public:
    Matcher() : shorts_(1 << 16, {kEscape, 1}) {
        singles_.fill({kEscape, 1});
        for (Entry& entry : buckets_[slot(kNothing)]) entry.bytes = 0;
    }

    // False: no room for the symbol.
    bool add(const Symbol& symbol) {
        const uint8_t code = static_cast<uint8_t>(symbols_.size());
        const uint8_t length = static_cast<uint8_t>(symbol.length);
        if (length >= 3) {
            Bucket& bucket = buckets_[slot(symbol.bytes)];
            int at = 0;
            while (at < kWays && bucket[at].length > 0) ++at;
            if (at == kWays) return false;
            // the longest first
            while (at > 0 && bucket[at - 1].length < length) {
                bucket[at] = bucket[at - 1];
                --at;
            }
            bucket[at] = {symbol.bytes, symbol.mask(), code, length};
        } else if (length == 2) {
            shorts_[symbol.bytes & 0xFFFF] = {code, 2};
        } else {
            singles_[symbol.bytes & 0xFF] = {code, 1};
            for (int second = 0; second < 256; ++second) {
                Match& match = shorts_[(symbol.bytes & 0xFF) | second << 8];
                if (match.length == 1) match = {code, 1};
            }
        }
        symbols_.push_back(symbol);
        return true;
    }

    const std::vector<Symbol>& symbols() const { return symbols_; }

    struct Match {
        uint8_t code;  // kEscape: none
        uint8_t length;
    };

    // For a word of 8 bytes that all count. Chosen without branches: which symbol comes next cannot be predicted.
    Match next(uint64_t word) const {
        Match found = shorts_[word & 0xFFFF];
        const Bucket& bucket = buckets_[slot(word)];
        for (int way = kWays - 1; way >= 0; --way) {
            const Entry& entry = bucket[way];
            const bool fits = ((word ^ entry.bytes) & entry.mask) == 0;
            found.code = fits ? entry.code : found.code;
            found.length = fits ? entry.length : found.length;
        }
        return found;
    }

    // For a word of which the first `room` bytes count.
    Match next(uint64_t word, int64_t room) const {
        for (const Entry& entry : buckets_[slot(word)]) {
            if (((word ^ entry.bytes) & entry.mask) == 0 && entry.length <= room) return {entry.code, entry.length};
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
        uint8_t code = kEscape;
        uint8_t length = 0;
    };
    using Bucket = std::array<Entry, kWays>;
    static constexpr uint64_t kNothing = ~uint64_t{0};

    static constexpr size_t slot(uint64_t word) { return ((word & 0xFFFFFF) * 0x9E3779B1u >> 15) & ((1 << kLog2Buckets) - 1); }

    std::array<Bucket, 1 << kLog2Buckets> buckets_;
    std::vector<Match> shorts_;
    std::array<Match, 256> singles_;
    std::vector<Symbol> symbols_;
};

// How often symbols, bytes without one (256 + byte), and pairs of them occur when the sample is encoded.
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
            const int unit = match.code == kEscape ? Counts::kBytes + *at : match.code;
            counts.one(unit);
            // not to make the symbol longer, but to start over at its first byte, is the other choice
            if (match.length > 1) counts.one(Counts::kBytes + *at);
            if (with_pairs && previous >= 0) {
                counts.pair(previous, unit);
                if (match.length > 1) counts.pair(previous, Counts::kBytes + *at);
            }
            previous = unit;
            at += match.length;
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
        const uint64_t key = symbol.length == 8 ? symbol.bytes : symbol.bytes | static_cast<uint64_t>(symbol.length) << 56;
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

void write_table(const Matcher& matcher, MutableBytes out) {
    const std::vector<Symbol>& symbols = matcher.symbols();
    std::fill(out.begin(), out.end(), uint8_t{0});
    store(out.data(), kMagic | kInUse | symbols.size());
    for (size_t i = 0; i < symbols.size(); ++i) {
        store(out.data() + 8 + 8 * i, symbols[i].bytes);
        out[8 + 8 * symbols.size() + i] = static_cast<uint8_t>(symbols[i].length);
    }
}

Matcher read_table(Bytes table) {
    require_input(table, kSymbolTableBytes, "the symbol table");
    const uint64_t header = load<uint64_t>(table.data());
    const size_t num_symbols = header & 0xFF;
    Matcher matcher;
    for (size_t i = 0; i < num_symbols; ++i) {
        const int length = table[8 + 8 * num_symbols + i];
        if (length < 1 || length > 8) fail("symbol ", i, " of ", length, " bytes");
        Symbol symbol{load<uint64_t>(table.data() + 8 + 8 * i), length};
        symbol.bytes &= symbol.mask();
        if (!matcher.add(symbol)) fail("symbol ", i, " has the hash of too many others");
    }
    return matcher;
}

// Encodes data[at, end) behind `out`, which has room for twice as many bytes; returns the end.
uint8_t* encode_value(const Matcher& matcher, const uint8_t* at, const uint8_t* end, uint8_t* out) {
    while (end - at >= 8) {
        const Matcher::Match match = matcher.next(load<uint64_t>(at));
        out[0] = match.code;
        out[1] = *at;
        out += 1 + (match.code == kEscape);
        at += match.length;
    }
    while (at < end) {
        const Matcher::Match match = matcher.next(word_at(at, end), end - at);
        *out++ = match.code;
        if (match.code == kEscape) *out++ = *at;
        at += match.length;
    }
    return out;
}

template <class Offset>
int64_t encode(Bytes offsets, int64_t num_values, Bytes data, const Matcher& matcher, MutableBytes out_offsets,
               MutableBytes out) {
    constexpr int64_t width = sizeof(Offset);
    require_input(offsets, (num_values + 1) * width, "offsets");
    require_output(out_offsets, (num_values + 1) * width, "out_offsets");
    if (!rises<Offset>(offsets.data(), num_values)) fail("offsets that do not rise");
    const auto offset = [&](int64_t i) { return static_cast<int64_t>(load<Offset>(offsets.data() + i * width)); };
    if (offset(num_values) > size_of(data)) fail("offsets behind the end of the values");
    require_output(out, 2 * (offset(num_values) - offset(0)));
    uint8_t* to = out.data();
    store(out_offsets.data(), Offset{0});
    for (int64_t i = 0; i < num_values; ++i) {
        to = encode_value(matcher, data.data() + offset(i), data.data() + offset(i + 1), to);
        if (to - out.data() > max_offset<Offset>) fail("codes of more than ", max_offset<Offset>, " bytes");
        store(out_offsets.data() + (i + 1) * width, static_cast<Offset>(to - out.data()));
    }
    return to - out.data();
}

// Values from the whole range, up to about sample_bytes.
template <class Offset>
Sample sample_of(Bytes offsets, int64_t num_values, Bytes data, int64_t sample_bytes) {
    constexpr int64_t width = sizeof(Offset);
    require_input(offsets, (num_values + 1) * width, "offsets");
    if (!rises<Offset>(offsets.data(), num_values)) fail("offsets that do not rise");
    const auto offset = [&](int64_t i) { return static_cast<int64_t>(load<Offset>(offsets.data() + i * width)); };
    if (offset(num_values) > size_of(data)) fail("offsets behind the end of the values");
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
    const Sample sample = with_offset(offset_bits, [&](auto offset) {
        return sample_of<decltype(offset)>(offsets, num_values, data, sample_bytes);
    });
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
    write_table(matcher, out.first(kSymbolTableBytes));
}

int64_t fsst_encode(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes symbol_table,
                    MutableBytes out_offsets, MutableBytes out) {
    const Matcher matcher = read_table(symbol_table);
    return with_offset(offset_bits, [&](auto offset) {
        return encode<decltype(offset)>(offsets, num_values, data, matcher, out_offsets, out);
    });
}

}  // namespace lance
