// Chooses the loops of filters once, when the module is loaded.
#include "predicates/filter_loops.h"
#include "system/processor.h"

namespace lance {

extern const FilterLoops filter_loops_baseline;

#ifdef LANCE_UNPACK_V3
extern const FilterLoops filter_loops_v3;
extern const FilterLoops filter_loops_v4;

namespace {

const FilterLoops& choose() {
    if (has_v4()) return filter_loops_v4;
    return has_v3() ? filter_loops_v3 : filter_loops_baseline;
}

}  // namespace

const FilterLoops& filter_loops = choose();
#else
const FilterLoops& filter_loops = filter_loops_baseline;
#endif

}  // namespace lance
