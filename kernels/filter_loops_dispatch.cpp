// Chooses the loops of filters once, when the module is loaded.
#include "filter_loops.h"

namespace lance {

extern const FilterLoops filter_loops_baseline;

#ifdef LANCE_UNPACK_V3
extern const FilterLoops filter_loops_v3;

namespace {

const FilterLoops& choose() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? filter_loops_v3 : filter_loops_baseline;
}

}  // namespace

const FilterLoops& filter_loops = choose();
#else
const FilterLoops& filter_loops = filter_loops_baseline;
#endif

}  // namespace lance
