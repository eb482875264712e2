// Chooses the loops of distances once, when the module is loaded.
#include "search/distance_loops.h"
#include "system/processor.h"

namespace lance {

extern const DistanceLoops distance_loops_baseline;

#ifdef LANCE_UNPACK_V3
extern const DistanceLoops distance_loops_v3;
extern const DistanceLoops distance_loops_v4;

namespace {

const DistanceLoops& choose() {
    if (has_v4()) return distance_loops_v4;
    return has_v3() ? distance_loops_v3 : distance_loops_baseline;
}

}  // namespace

const DistanceLoops& distance_loops = choose();
#else
const DistanceLoops& distance_loops = distance_loops_baseline;
#endif

}  // namespace lance
