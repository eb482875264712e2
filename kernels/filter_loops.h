// The innermost loops of filters: comparing values with a range of keys, collecting the items that have a flag.
#pragma once

#include <array>

#include "bytes.h"

namespace lance {

// How the bits of a value become an unsigned key, so that keys are ordered as values are.
enum class ValueOrder : int {
    kUnsigned = 0,
    kSigned = 1,
    kFloat = 2,  // -0.0 is 0.0, and NaN is above everything
};

// Clears the flags of values whose keys are not in low..high, or of all others.
using KeepRange = void (*)(const uint8_t* values, int64_t num_values, uint64_t low, uint64_t high, bool inside,
                           uint8_t* flags);

struct Compacted {
    int64_t num_values;  // looked at
    int64_t num_items;   // written
};

// Writes the items that have a flag, eight values at a time, and stops where room for fewer than eight is left: items
// behind the last one are overwritten.
using CompactItems = Compacted (*)(const uint8_t* values, const uint8_t* flags, int64_t num_values, uint8_t* out,
                                   int64_t room);

struct FilterLoops {
    // By the order of keys and the logarithm of the bytes of a value; there are no floats of 8 and 16 bits.
    std::array<std::array<KeepRange, 4>, 3> keep_range;
    CompactItems compact4;
    CompactItems compact8;
};

// The functions that suit this processor.
extern const FilterLoops& filter_loops;

}  // namespace lance
