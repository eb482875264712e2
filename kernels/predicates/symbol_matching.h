// Which FSST strings match, told from their codes: nothing is decoded.
//
// A test of strings is an automaton over their bytes: it knows how much of its bounds a string begins with, until the
// first other byte decides. One that steps from code to code follows from it, for a code stands for the same bytes
// everywhere. Most strings are decided after a few codes.
//
//     codes of a string    | 17 | 203 | 4 | 91 | ..
//                            lead: those that most strings begin with, compared at once; nothing is decided behind them
//                                       the two codes behind it decide nearly all strings
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "encodings/chunks.h"
#include "encodings/fsst.h"
#include "predicates/page_test.h"

namespace lance {

class SymbolMatcher {
  public:
    // Nothing where the bounds are too long for a table that stays in a cache, or codes are not in use.
    //
    // sample: the codes of some of the strings, in any number
    static std::optional<SymbolMatcher> make(const SymbolTable& symbols, const StringTest& test,
                                             std::span<const Bytes> sample);

    bool is_for(const StringTest& test) const;

    // Clears the flags of strings that do not match. Of a string whose flag is not set nothing is looked at.
    //
    // offset_bits: of the offsets in the chunks
    void keep(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, MutableBytes flags) const;

  private:
    // Rows of the table; each other state has two rows, the second one for behind an escape.
    enum : uint8_t { kRejected, kAccepted, kDamaged, kFirst };
    static constexpr int64_t kMostRows = 256;

    SymbolMatcher() = default;

    void find_lead(std::span<const Bytes> sample);
    // What a string is: the first of its codes are looked at together.
    uint8_t follow(const uint8_t* at, const uint8_t* end) const;
    // chunk: the bytes that the offsets count from, all of which may be read
    template <bool has_lead, class Offset>
    void keep_of_piece(const uint8_t* offsets, int64_t num_strings, Bytes chunk, uint8_t* flags) const;
    uint8_t run(uint8_t state, const uint8_t* at, const uint8_t* end) const {
        while (at != end && state >= kFirst) state = next_[size_t{state} << 8 | *at++];
        return at_end_[state];
    }

    std::vector<uint8_t> low_;
    std::optional<std::vector<uint8_t>> end_;
    bool inside_ = true;

    uint8_t start_ = kAccepted;
    std::vector<uint8_t> next_;       // [row, code]
    std::vector<uint8_t> pairs_;      // [code, code]: the row behind the first two of a string; empty with a lead
    uint64_t lead_ = 0;               // the codes that most strings begin with, the first one in the lowest byte
    size_t lead_size_ = 0;            // 0: strings begin with no codes in common, or they are decided by these
    uint8_t lead_state_ = kAccepted;  // the row behind it
    std::vector<uint8_t> at_end_;     // what a string is that ends here: kRejected, kAccepted or kDamaged
};

}  // namespace lance
