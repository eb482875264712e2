// Chooses the loops of filters once, when the module is loaded.
#include "predicates/filter_loops.h"
#include "system/processor.h"

namespace lance {

extern const FilterLoops filter_loops_baseline;

#ifdef LANCE_UNPACK_V3
extern const FilterLoops filter_loops_v3;
extern const FilterLoops filter_loops_v4;

const FilterLoops& filter_loops = fastest(filter_loops_baseline, filter_loops_v3, filter_loops_v4);
#else
const FilterLoops& filter_loops = filter_loops_baseline;
#endif

}  // namespace lance
