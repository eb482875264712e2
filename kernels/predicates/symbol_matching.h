// Matches FSST strings by their codes, without decoding.
//
// A test of strings is an automaton over their bytes: its state is the part of its bounds that a string begins with,
// until the first other byte decides. One that steps from code to code follows from it, for a code stands for the same
// bytes everywhere. Most strings are decided after a few codes.
//
//     codes of a string    | 17 | 203 | 4 | 91 | ..
//                            lead: those that most strings begin with, compared at once; they decide nothing
//                                       the two codes after it decide nearly all strings
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
    // Nothing if the bounds are too long for a table that stays in a processor cache, or codes are not used.
    //
    // sample: the codes of any number of the strings
    static std::optional<SymbolMatcher> make(const SymbolTable& symbols, const StringTest& test,
                                             std::span<const Bytes> sample);

    bool is_for(const StringTest& test) const;

    // Clears the flags of strings that do not match. Strings without a flag are not read.
    //
    // offset_bits: of the offsets in the chunks
    void keep(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, MutableBytes flags) const;

  private:
    // Rows of the table; each other state has two rows, the second one for the code after an escape.
    enum : uint8_t { kRejected, kAccepted, kDamaged, kFirst };
    static constexpr int64_t kMostRows = 256;

    SymbolMatcher() = default;

    void find_lead(std::span<const Bytes> sample);
    // Result for a string: its first codes are tested together.
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
    std::vector<uint8_t> pairs_;      // [code, code]: the row after the first two codes of a string; empty with a lead
    uint64_t lead_ = 0;               // the codes that most strings begin with, the first one in the lowest byte
    size_t lead_size_ = 0;            // 0: strings begin with no codes in common, or they are decided by these
    uint8_t lead_state_ = kAccepted;  // the row after it
    std::vector<uint8_t> at_end_;     // what a string is that ends here: kRejected, kAccepted or kDamaged
};

}  // namespace lance
