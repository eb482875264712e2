// Compares the bit width of a bit-packed group with a range: if that decides, nothing is unpacked.
#pragma once

#include <algorithm>
#include <optional>

#include "encodings/packed.h"
#include "predicates/filter_loops.h"

namespace lance {

// Values of fewer bits than their word are no negative numbers: 0 to 2**num_bits - 1.
class PackedRange {
  public:
    // word_bits: 8 to 64; keys of as many bits
    PackedRange(int64_t word_bits, ValueOrder order, uint64_t low, uint64_t high, bool inside)
        : word_bits_(word_bits), is_float_(order == ValueOrder::kFloat), inside_(inside) {
        const uint64_t top = uint64_t{1} << (word_bits - 1);
        if (is_float_) {
            // The keys of non-negative values have the highest bit set as well; those of NaN have all bits.
            const uint64_t infinity = (word_bits == 32 ? uint64_t{0x7F800000} : uint64_t{0x7FF0000000000000}) | top;
            const bool has_nan = high == low_bits(word_bits);
            is_empty_ = high < top || (low > infinity && !has_nan);
            high = has_nan ? high : std::min(high, infinity);
            low = std::min(std::max(low, top), infinity + 1);
        }
        least_ = order == ValueOrder::kUnsigned ? low : low ^ top;
        span_ = high - low;
    }

    // Whether all values match, or none does; nothing if some may.
    //
    // packed: a word with the number of bits, then the group
    //
    // By the distance of values from the lowest one of the range, in words that wrap around: without a wrap between
    // the smallest value and the greatest one, these two decide.
    std::optional<bool> answer(Bytes packed) const {
        const auto num_bits = with_word(word_bits_, [&](auto word) { return inline_width<decltype(word)>(packed); });
        // with all bits in use values may be negative
        if (is_float_ && static_cast<int64_t>(num_bits) == word_bits_) return std::nullopt;
        if (is_empty_) return !inside_;
        const uint64_t all = low_bits(word_bits_);
        const uint64_t first = (0 - least_) & all;
        const uint64_t last = (low_bits(static_cast<int64_t>(num_bits)) - least_) & all;
        if (first > last) return std::nullopt;
        if (last <= span_) return inside_;
        if (first > span_) return !inside_;
        return std::nullopt;
    }

  private:
    int64_t word_bits_;
    bool is_float_;
    bool is_empty_ = false;
    bool inside_;
    uint64_t least_;  // of the range, as a word
    uint64_t span_;
};

}  // namespace lance
