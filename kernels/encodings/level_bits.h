// Tests of 64 u16 levels at a time, as bits.
#pragma once

#include "system/bits.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lance {

// level <= limit
struct AtMost {
    uint16_t limit;

    uint8_t operator()(uint16_t level) const { return level <= limit; }
#ifdef __SSE2__
    __m128i operator()(__m128i levels) const {
        const __m128i above = _mm_subs_epu16(levels, _mm_set1_epi16(static_cast<int16_t>(limit)));
        return _mm_cmpeq_epi16(above, _mm_setzero_si128());
    }
#endif
};

// level <= limit or level == other
struct AtMostOrEqual {
    uint16_t limit;
    uint16_t other;

    uint8_t operator()(uint16_t level) const { return static_cast<uint8_t>((level <= limit) | (level == other)); }
#ifdef __SSE2__
    __m128i operator()(__m128i levels) const {
        const __m128i equal = _mm_cmpeq_epi16(levels, _mm_set1_epi16(static_cast<int16_t>(other)));
        return _mm_or_si128(AtMost{limit}(levels), equal);
    }
#endif
};

// Bit i = test(level i) for num_levels in 1..64.
template <class Test>
uint64_t test_levels(const uint8_t* levels, int64_t num_levels, Test test) {
#ifdef __SSE2__
    if (num_levels == 64) {
        uint64_t bits = 0;
        for (int i = 0; i < 4; ++i) {
            const auto* at = reinterpret_cast<const __m128i*>(levels + 32 * i);
            const __m128i flags = _mm_packs_epi16(test(_mm_loadu_si128(at)), test(_mm_loadu_si128(at + 1)));
            bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(flags))) << (16 * i);
        }
        return bits;
    }
#endif
    alignas(64) uint8_t flags[64] = {};
    for (int64_t i = 0; i < num_levels; ++i) flags[i] = test(load<uint16_t>(levels + 2 * i));
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= gather_low_bits(load<uint64_t>(flags + 8 * i)) << (8 * i);
    return bits;
}

}  // namespace lance
