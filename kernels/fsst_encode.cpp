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

    // For a word of 8 bytes that all count. Chosen without branches: which symbol comes next cannot be predicted.
    Match next(uint64_t word) const {
        Match found = shorts_[word & 0xFFFF];
        const Bucket& bucket = buckets_[slot(word)];
        for (int way = kWays - 1; way >= 0; --way) {
            const Entry& entry = bucket[way];
            const uint32_t misses = static_cast<uint32_t>(((word ^ entry.bytes) & entry.mask) == 0) - 1;
            found.code_and_length = (found.code_and_length & misses) | (entry.match.code_and_length & ~misses);
        }
        return found;
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

    static constexpr size_t slot(uint64_t word) { return ((word & 0xFFFFFF) * 0x9E3779B1u >> 15) & ((1 << kLog2Buckets) - 1); }

    std::array<Bucket, 1 << kLog2Buckets> buckets_;
    std::vector<Match> shorts_;
    std::vector<Match> singles_;
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

// Encodes values a symbol at a time. Several runs of them take turns: which symbol comes next is known only when the one
// before is found, and the processor finds those of other runs meanwhile.
template <class Offset>
class Encoder {
  public:
    static constexpr int64_t kWidth = sizeof(Offset);

    // Where one run stands. Handed on by value: bytes written through a pointer might change anything that has an address.
    struct Run {
        const uint8_t* at;
        const uint8_t* end;  // of the value
        uint8_t* out;
        uint8_t* start;
        int64_t value;
        int64_t last;

        bool done() const { return value == last; }
        int64_t num_bytes() const { return out - start; }
    };

    Encoder(const Matcher& matcher, Bytes offsets, Bytes data, uint8_t* out_offsets)
        : matcher_(matcher), offsets_(offsets.data()), data_(data.data()), out_offsets_(out_offsets),
          last_word_(data.size() < 8 ? nullptr : data.data() + data.size() - 8) {}

    // out: room for twice the bytes of the values
    Run run(int64_t first, int64_t last, uint8_t* out) const {
        return begin_value({nullptr, nullptr, out, out, first, last});
    }

    // Not for a run that is done.
    [[gnu::always_inline]] Run step(Run run) const {
        const int64_t room = run.end - run.at;
        if (room == 0 || run.at > last_word_) [[unlikely]] return finish_value(run);
        // the bytes of the next value do not count
        const int64_t unused = 64 - 8 * std::min<int64_t>(room, 8);
        const Matcher::Match match = matcher_.next(load<uint64_t>(run.at) << unused >> unused);
        if (match.length() > room) [[unlikely]] return finish_value(run);
        return put(run, match);
    }

  private:
    // Both bytes are written, of which the second counts behind an escape only.
    static Run put(Run run, Matcher::Match match) {
        run.out[0] = match.code();
        run.out[1] = *run.at;
        run.out += 1 + (match.code() == kEscape);
        run.at += match.length();
        return run;
    }

    Run begin_value(Run run) const {
        if (run.done()) return run;
        const uint8_t* at = offsets_ + run.value * kWidth;
        run.at = data_ + load<Offset>(at);
        run.end = data_ + load<Offset>(at + kWidth);
        return run;
    }

    [[gnu::noinline]] Run finish_value(Run run) const {
        while (run.at < run.end) run = put(run, matcher_.next(word_at(run.at, run.end), run.end - run.at));
        if (run.num_bytes() > max_offset<Offset>) fail("codes of more than ", max_offset<Offset>, " bytes");
        ++run.value;
        store(out_offsets_ + run.value * kWidth, static_cast<Offset>(run.num_bytes()));
        return begin_value(run);
    }

    const Matcher& matcher_;
    const uint8_t* offsets_;
    const uint8_t* data_;
    uint8_t* out_offsets_;
    const uint8_t* last_word_;
};

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

    const Encoder<Offset> encoder(matcher, offsets, data, out_offsets.data());
    const auto first = [&](int part) { return num_values * part / 4; };
    const auto run = [&](int part) {
        return encoder.run(first(part), first(part + 1), out.data() + 2 * (offset(first(part)) - offset(0)));
    };
    auto a = run(0), b = run(1), c = run(2), d = run(3);
    while (!a.done() && !b.done() && !c.done() && !d.done()) {
        a = encoder.step(a);
        b = encoder.step(b);
        c = encoder.step(c);
        d = encoder.step(d);
    }
    store(out_offsets.data(), Offset{0});
    int64_t total = 0;
    int part = 0;
    for (auto rest : {a, b, c, d}) {
        while (!rest.done()) rest = encoder.step(rest);
        if (rest.num_bytes() > 0) std::memmove(out.data() + total, rest.start, static_cast<size_t>(rest.num_bytes()));
        if (total + rest.num_bytes() > max_offset<Offset>) fail("codes of more than ", max_offset<Offset>, " bytes");
        for (int64_t i = first(part) + 1; i <= first(part + 1); ++i) {
            uint8_t* at = out_offsets.data() + i * width;
            store(at, static_cast<Offset>(load<Offset>(at) + static_cast<Offset>(total)));
        }
        total += rest.num_bytes();
        ++part;
    }
    return total;
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
