// Chooses the unpacking functions once, when the module is loaded.
#include "unpack_group.h"

namespace lance {

extern const UnpackTables unpack_baseline;

#ifdef LANCE_UNPACK_V3
extern const UnpackTables unpack_v3;

namespace {

const UnpackTables& choose() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? unpack_v3 : unpack_baseline;
}

}  // namespace

const UnpackTables& unpack_tables = choose();
#else
const UnpackTables& unpack_tables = unpack_baseline;
#endif

}  // namespace lance
