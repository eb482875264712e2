// The automaton over codes is made of that over bytes.
#include "predicates/symbol_matching.h"

#include <algorithm>
#include <array>

namespace lance {

namespace {

// Number of bytes of a bound that a string begins with; kDecided if the order of both is decided.
constexpr int64_t kDecided = -1;

struct Progress {
    int64_t low;
    int64_t end;

    bool operator==(const Progress&) const = default;
};

enum class Verdict { kRejected, kAccepted, kOpen };

// The automaton over bytes of strings.
class ByteAutomaton {
  public:
    explicit ByteAutomaton(const StringTest& test) : test_(test) {}

    Progress start() const {
        // the empty string is below all others
        return {test_.low.empty() ? kDecided : 0, test_.end ? 0 : kDecided};
    }

    // State of a string before its next byte.
    Verdict verdict(const Progress& at) const {
        if (test_.end && at.end == size_of(*test_.end)) return outside();
        return at.low == kDecided && at.end == kDecided ? inside() : Verdict::kOpen;
    }

    // Result for a string that ends here: it is below longer bounds.
    Verdict verdict_at_end(const Progress& at) const { return at.low == kDecided ? inside() : outside(); }

    // Moves on by a byte, of a string whose verdict is open.
    Verdict step(Progress& at, uint8_t byte) const {
        if (at.low != kDecided) {
            const uint8_t bound = test_.low[static_cast<size_t>(at.low)];
            if (byte < bound) return outside();
            at.low = byte == bound && at.low + 1 < size_of(test_.low) ? at.low + 1 : kDecided;
        }
        if (at.end != kDecided) {
            const uint8_t bound = (*test_.end)[static_cast<size_t>(at.end)];
            if (byte > bound) return outside();
            at.end = byte == bound ? at.end + 1 : kDecided;
        }
        return verdict(at);
    }

  private:
    Verdict inside() const { return test_.inside ? Verdict::kAccepted : Verdict::kRejected; }
    Verdict outside() const { return test_.inside ? Verdict::kRejected : Verdict::kAccepted; }

    const StringTest& test_;
};

// This many codes of a string are always read: most strings are decided by then, and without branches a processor reads
// those of many strings at a time.
constexpr size_t kCodesTogether = 4;
constexpr int64_t kStringsTogether = 8;
constexpr uint64_t kAllFlags = 0x0101010101010101;

// Codes that are read at once: those of the lead, and some after it, which decide nearly all strings.
constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kBehindLead = 2;
constexpr size_t kLongestLead = kWord - kBehindLead;
// At least this many of four sampled strings have the lead.
constexpr size_t kQuarters = 3;

}  // namespace

std::optional<SymbolMatcher> SymbolMatcher::make(const SymbolTable& symbols, const StringTest& test,
                                                 std::span<const Bytes> sample) {
    // A state for each byte of a bound that a string may begin with, at the most.
    const int64_t most_states = size_of(test.low) + (test.end ? size_of(*test.end) : 0);
    if (!symbols.in_use() || kFirst + 2 * most_states > kMostRows) return std::nullopt;
    const ByteAutomaton bytes(test);
    SymbolMatcher made;
    made.low_.assign(test.low.begin(), test.low.end());
    if (test.end) made.end_.emplace(test.end->begin(), test.end->end());
    made.inside_ = test.inside;
    const auto row_of = [](Verdict verdict) -> uint8_t {
        return verdict == Verdict::kAccepted ? kAccepted : kRejected;
    };

    std::vector<Progress> states;
    // The row of a state, created if it has none.
    const auto add = [&](const Progress& at, Verdict verdict) -> uint8_t {
        if (verdict != Verdict::kOpen) return row_of(verdict);
        const auto state = std::find(states.begin(), states.end(), at);
        const size_t row = kFirst + 2 * static_cast<size_t>(state - states.begin());
        if (state == states.end()) states.push_back(at);
        return static_cast<uint8_t>(row);
    };
    made.start_ = add(bytes.start(), bytes.verdict(bytes.start()));
    for (uint8_t row : {kRejected, kAccepted, kDamaged}) {
        made.next_.insert(made.next_.end(), 256, row);
        made.at_end_.push_back(row);
    }
    for (size_t i = 0; i < states.size(); ++i) {
        std::array<uint8_t, 512> rows;
        for (size_t code = 0; code < 256; ++code) {
            const SymbolTable::Symbol& symbol = symbols.symbols()[code];
            Progress at = states[i];
            Verdict verdict = Verdict::kOpen;
            for (uint64_t k = 0; k < symbol.step % SymbolTable::kUndefined && verdict == Verdict::kOpen; ++k) {
                verdict = bytes.step(at, static_cast<uint8_t>(symbol.bytes >> (8 * k)));
            }
            rows[code] = symbol.step == SymbolTable::kUndefined ? uint8_t{kDamaged} : add(at, verdict);
            at = states[i];
            verdict = bytes.step(at, static_cast<uint8_t>(code));
            rows[256 + code] = add(at, verdict);
        }
        rows[SymbolTable::kEscape] = static_cast<uint8_t>(kFirst + 2 * i + 1);
        made.next_.insert(made.next_.end(), rows.begin(), rows.end());
        made.at_end_.push_back(row_of(bytes.verdict_at_end(states[i])));
        made.at_end_.push_back(kDamaged);
    }
    made.find_lead(sample);
    if (made.lead_size_ > 0) return made;
    made.pairs_.reserve(256 * 256);
    for (size_t code = 0; code < 256; ++code) {
        const auto behind = made.next_.begin() + 256 * made.next_[size_t{made.start_} << 8 | code];
        made.pairs_.insert(made.pairs_.end(), behind, behind + 256);
    }
    return made;
}

// As many codes as most of the sample have in common, as long as these decide nothing.
void SymbolMatcher::find_lead(std::span<const Bytes> sample) {
    std::vector<Bytes> left(sample.begin(), sample.end());
    lead_state_ = start_;
    while (lead_size_ < kLongestLead) {
        std::array<size_t, 256> counts{};
        for (const Bytes& codes : left) {
            if (codes.size() >= lead_size_ + 1 + kBehindLead) ++counts[codes[lead_size_]];
        }
        const auto most = std::max_element(counts.begin(), counts.end());
        if (*most == 0 || 4 * *most < kQuarters * sample.size()) break;
        const auto code = static_cast<size_t>(most - counts.begin());
        const uint8_t behind = next_[size_t{lead_state_} << 8 | code];
        if (behind < kFirst) break;
        std::erase_if(left, [&](const Bytes& codes) {
            return codes.size() < lead_size_ + 1 + kBehindLead || codes[lead_size_] != code;
        });
        lead_ |= uint64_t{code} << (8 * lead_size_);
        ++lead_size_;
        lead_state_ = behind;
    }
}

bool SymbolMatcher::is_for(const StringTest& test) const {
    return inside_ == test.inside && std::ranges::equal(low_, test.low) && end_.has_value() == test.end.has_value() &&
           (!end_ || std::ranges::equal(*end_, *test.end));
}

uint8_t SymbolMatcher::follow(const uint8_t* at, const uint8_t* end) const {
    if (static_cast<size_t>(end - at) < kCodesTogether) return run(start_, at, end);
    const auto codes = load<std::array<uint8_t, kCodesTogether>>(at);
    uint8_t state = pairs_[size_t{codes[0]} << 8 | codes[1]];
    for (size_t k = 2; k < kCodesTogether; ++k) state = next_[size_t{state} << 8 | codes[k]];
    return state < kFirst ? state : run(state, at + kCodesTogether, end);
}

template <bool has_lead, class Offset>
void SymbolMatcher::keep_of_piece(const uint8_t* offsets, int64_t num_strings, Bytes chunk, uint8_t* flags) const {
    const uint8_t* const next = next_.data();
    const uint8_t* const behind_lead = next + (size_t{lead_state_} << 8);
    const size_t num_bits = 8 * lead_size_;
    const size_t least_size = lead_size_ + kBehindLead;
    const uint64_t lead = lead_;
    const uint64_t mask = (uint64_t{1} << num_bits) - 1;
    // After this a word is not inside the chunk.
    const size_t word_end = chunk.size() >= kWord ? chunk.size() - kWord + 1 : 0;
    const auto offset = [&](int64_t i) { return load<Offset>(offsets + i * static_cast<int64_t>(sizeof(Offset))); };
    uint8_t seen = 0;
    const auto test = [&](int64_t i) {
        const Offset start = offset(i);
        const Offset end = offset(i + 1);
        const uint8_t* const first = chunk.data() + start;
        const uint8_t* const last = chunk.data() + end;
        uint8_t state = 0;
        if constexpr (has_lead) {
            const uint64_t word = start < word_end ? load<uint64_t>(first) : ~lead;
            if ((word & mask) == lead && end - start >= least_size) {
                const uint64_t codes = word >> num_bits;
                state = next[size_t{behind_lead[codes & 0xFF]} << 8 | (codes >> 8 & 0xFF)];
                if (state >= kFirst) state = run(state, first + least_size, last);
            } else {
                state = run(start_, first, last);
            }
        } else {
            state = follow(first, last);
        }
        seen |= state;
        flags[i] &= state & kAccepted;
    };
    int64_t i = 0;
    for (; i + kStringsTogether <= num_strings; i += kStringsTogether) {
        const auto together = load<uint64_t>(flags + i);
        if (together == 0) continue;
        for (int64_t k = i; k < i + kStringsTogether; ++k) {
            if (together == kAllFlags || flags[k]) test(k);
        }
    }
    for (; i < num_strings; ++i) {
        if (flags[i]) test(i);
    }
    if (seen & kDamaged) fail("a code without a symbol, or an escape at the end of a value");
}

void SymbolMatcher::keep(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, MutableBytes flags) const {
    chunks.require_buffer_index(0);
    require_output(flags, rows.num_items(), "flags");
    with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
            uint8_t* of_piece = flags.data() + piece.position;
            if (std::memchr(of_piece, 1, static_cast<size_t>(piece.size())) == nullptr) return;
            const VariableChunk<Offset> chunk(chunks, piece);
            chunk.checked_bytes(piece);
            try {
                const Bytes bytes(chunk.start(), static_cast<size_t>(chunk.num_bytes()));
                if (lead_size_ > 0) {
                    keep_of_piece<true, Offset>(chunk.offsets(piece.first), piece.size(), bytes, of_piece);
                } else {
                    keep_of_piece<false, Offset>(chunk.offsets(piece.first), piece.size(), bytes, of_piece);
                }
            } catch (const std::invalid_argument& error) {
                fail("chunk ", piece.chunk, ": ", error.what());
            }
        });
    });
}

}  // namespace lance
