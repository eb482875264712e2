// Selects the build of a source file that this processor can run; see CMakeLists.txt. LANCE_SQL_PROCESSOR=baseline or
// v3 limits it, so that one machine can test them all.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#ifdef LANCE_UNPACK_V3
#include <cpuid.h>
#endif

namespace lance {

#ifdef LANCE_UNPACK_V3

inline bool is_allowed(std::string_view build) {
    const char* most = std::getenv("LANCE_SQL_PROCESSOR");
    return most == nullptr || build <= std::string_view(most);
}

// Whether the processor has all of some features of leaf 7, and the system saves the registers that they use. Not
// __builtin_cpu_supports: it needs the compiler's own library, which the wheels are linked without.
inline bool has_features(uint32_t features, uint32_t registers) {
    constexpr uint32_t kSystemSaves = 1u << 27;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kSystemSaves) == 0) return false;
    uint32_t saved, high;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & registers) != registers || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (b & features) == features;
}

inline bool has_v3() {
    constexpr uint32_t kAvx2 = 1u << 5;
    return is_allowed("v3") && has_features(kAvx2, 0x06);
}

inline bool has_v4() {
    constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW and VL
    return is_allowed("v4") && has_features(kAvx512, 0xe6);
}

template <class Functions>
const Functions& fastest(const Functions& baseline, const Functions& v3, const Functions& v4) {
    if (has_v4()) return v4;
    return has_v3() ? v3 : baseline;
}

#endif

}  // namespace lance
