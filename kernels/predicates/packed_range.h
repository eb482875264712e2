// Compares the bit width of a bit-packed group with a range: if that decides, nothing is unpacked.
#pragma once

#include <optional>

#include "predicates/filter_loops.h"

namespace lance {

// Values of fewer bits than their word are no negative numbers: 0 to 2**num_bits - 1.
class PackedRange {
  public:
    // word_bits: 8 to 64; keys of as many bits
    PackedRange(int64_t word_bits, ValueOrder order, uint64_t low, uint64_t high, bool inside);

    // Whether all values match, or none does; nothing if some may.
    //
    // packed: a word with the number of bits, then the group
    std::optional<bool> answer(Bytes packed) const;

  private:
    int64_t word_bits_;
    bool is_float_;
    bool is_empty_ = false;
    bool inside_;
    uint64_t least_;  // of the range, as a word
    uint64_t span_;
};

}  // namespace lance
