// The innermost loops of filters: comparing values with a range of keys, collecting the items that have a flag.
#pragma once

#include <array>

#include "system/bytes.h"

namespace lance {

// Converts the bits of a value to an unsigned key with the order of the values.
enum class ValueOrder : int {
    kUnsigned = 0,
    kSigned = 1,
    kFloat = 2,  // -0.0 is 0.0, and NaN is above everything
};

// Clears the flags of values whose keys are not in low..high, or of all others.
using KeepRange = void (*)(const uint8_t* values, int64_t num_values, uint64_t low, uint64_t high, bool inside,
                           uint8_t* flags);

// 128 bits, as they are stored: the low half first.
struct Wide {
    uint64_t low;
    uint64_t high;
};

// For signed values of 128 bits.
using KeepWideRange = void (*)(const uint8_t* values, int64_t num_values, Wide low, Wide high, bool inside,
                               uint8_t* flags);

// Clears the flags of values whose index has a 0 among the bits of at most 256 items; indices are below 256.
using KeepItems = void (*)(const uint8_t* indices, int64_t num_values, const std::array<uint32_t, 8>& items,
                           uint8_t* flags);

struct Compacted {
    int64_t num_values;  // looked at
    int64_t num_items;   // written
};

// Writes the items with a flag, eight values at a time, and stops if there is room for fewer than eight: items after
// the last one are overwritten.
using CompactItems = Compacted (*)(const uint8_t* values, const uint8_t* flags, int64_t num_values, uint8_t* out,
                                   int64_t room);

// Writes the positions of set flags, and stops without room for the next; returns the number written.
using FindFlags = int64_t (*)(const uint8_t* flags, int64_t num_flags, int64_t* positions, int64_t room);

// The keys of some values.
struct KeyBounds {
    uint64_t low = ~uint64_t{0};  // of those that are neither NULL nor NaN; above `high` without any
    uint64_t high = 0;
    int64_t num_valid = 0;  // not NULL
    int64_t num_nans = 0;
};

// Widens the bounds to some values; levels: u16 for each, 0 if it is not NULL, or null without NULLs.
using BoundKeys = void (*)(const uint8_t* values, const uint8_t* levels, int64_t num_values, KeyBounds& bounds);

struct FilterLoops {
    // By the order of keys and the logarithm of the bytes of a value; there are no floats of 8 and 16 bits.
    std::array<std::array<KeepRange, 4>, 3> keep_range;
    std::array<std::array<BoundKeys, 4>, 3> bound_keys;  // likewise
    std::array<KeepItems, 4> keep_items;                 // by the logarithm of the bytes of an index
    KeepWideRange keep_wide_range;
    CompactItems compact4;
    CompactItems compact8;
    CompactItems compact16;
    FindFlags find_flags;
};

// The functions that suit this processor.
extern const FilterLoops& filter_loops;

}  // namespace lance
