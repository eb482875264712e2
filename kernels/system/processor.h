// Selects the build of a source file that this processor can run; see CMakeLists.txt. LANCE_SQL_PROCESSOR=baseline or
// v3 limits it, so that one machine can test them all.
#pragma once

#include <cstdlib>
#include <string_view>

namespace lance {

#ifdef LANCE_UNPACK_V3

inline bool is_allowed(std::string_view build) {
    const char* most = std::getenv("LANCE_SQL_PROCESSOR");
    return most == nullptr || build <= std::string_view(most);
}

inline bool has_v3() {
    __builtin_cpu_init();
    return is_allowed("v3") && __builtin_cpu_supports("avx2");
}

inline bool has_v4() {
    __builtin_cpu_init();
    return is_allowed("v4") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

template <class Functions>
const Functions& fastest(const Functions& baseline, const Functions& v3, const Functions& v4) {
    if (has_v4()) return v4;
    return has_v3() ? v3 : baseline;
}

#endif

}  // namespace lance
