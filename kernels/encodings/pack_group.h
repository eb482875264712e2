// Packing of one group of 1024 values in FastLanes order: the inverse of unpack_group.h, which has the picture.
#pragma once

#include "encodings/unpack_group.h"

namespace lance {

// Reads 1024 words, writes 128 * num_bits bytes; bits above num_bits are cut off.
using PackGroup = void (*)(const uint8_t* values, uint8_t* out);

// The bits that any of 1024 words has.
template <class T>
using AnyBits = T (*)(const uint8_t* values);

struct PackTables {
    std::array<PackGroup, 9> bits8;
    std::array<PackGroup, 17> bits16;
    std::array<PackGroup, 33> bits32;
    std::array<PackGroup, 65> bits64;
    AnyBits<uint8_t> any8;
    AnyBits<uint16_t> any16;
    AnyBits<uint32_t> any32;
    AnyBits<uint64_t> any64;
};

// The functions that suit this processor.
extern const PackTables& pack_tables;

template <class T>
inline PackGroup pack_group(int64_t num_bits) {
    if constexpr (sizeof(T) == 1) return pack_tables.bits8[num_bits];
    if constexpr (sizeof(T) == 2) return pack_tables.bits16[num_bits];
    if constexpr (sizeof(T) == 4) return pack_tables.bits32[num_bits];
    if constexpr (sizeof(T) == 8) return pack_tables.bits64[num_bits];
}

template <class T>
inline AnyBits<T> any_bits() {
    if constexpr (sizeof(T) == 1) return pack_tables.any8;
    if constexpr (sizeof(T) == 2) return pack_tables.any16;
    if constexpr (sizeof(T) == 4) return pack_tables.any32;
    if constexpr (sizeof(T) == 8) return pack_tables.any64;
}

}  // namespace lance
