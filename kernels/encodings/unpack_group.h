// Unpacking of one group of 1024 values in FastLanes order.
//
// A group of T-bit words holds 1024 values of W bits in 128 * W bytes. The words form a matrix of W rows and
// 1024 / T lanes; each lane is a bit stream down its column, and value r of a lane is value
// 16 * order[r / 8] + 128 * (r % 8) + lane of the group.
// Source: Afroozeh and Boncz, "The FastLanes Compression Layout", VLDB 2023
#pragma once

#include <array>

#include "system/bytes.h"

namespace lance {

inline constexpr int64_t kGroup = 1024;

// Reads 128 * num_bits bytes, writes 1024 words.
using UnpackGroup = void (*)(const uint8_t* packed, uint8_t* out);

// The functions of each word width, by number of bits.
struct UnpackTables {
    std::array<UnpackGroup, 9> bits8;
    std::array<UnpackGroup, 17> bits16;
    std::array<UnpackGroup, 33> bits32;
    std::array<UnpackGroup, 65> bits64;
};

// The functions that suit this processor.
extern const UnpackTables& unpack_tables;

template <class T>
inline UnpackGroup unpack_group(int64_t num_bits) {
    if constexpr (sizeof(T) == 1) return unpack_tables.bits8[num_bits];
    if constexpr (sizeof(T) == 2) return unpack_tables.bits16[num_bits];
    if constexpr (sizeof(T) == 4) return unpack_tables.bits32[num_bits];
    if constexpr (sizeof(T) == 8) return unpack_tables.bits64[num_bits];
}

// Calls visit(T{}) with the unsigned type of `bits`.
template <class Visit>
decltype(auto) with_word(int64_t bits, Visit visit) {
    switch (bits) {
        case 8: return visit(uint8_t{});
        case 16: return visit(uint16_t{});
        case 32: return visit(uint32_t{});
        case 64: return visit(uint64_t{});
        default: fail("values of ", bits, " bits, not 8, 16, 32 or 64");
    }
}

}  // namespace lance
