// Which of the builds of a source file this processor can run; see CMakeLists.txt.
#pragma once

namespace lance {

#ifdef LANCE_UNPACK_V3

inline bool has_v3() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

inline bool has_v4() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#endif

}  // namespace lance
