// Chooses the loops of distances once, when the module is loaded.
#include "search/distance_loops.h"
#include "system/processor.h"

namespace lance {

extern const DistanceLoops distance_loops_baseline;

#ifdef LANCE_UNPACK_V3
extern const DistanceLoops distance_loops_v3;
extern const DistanceLoops distance_loops_v4;

const DistanceLoops& distance_loops = fastest(distance_loops_baseline, distance_loops_v3, distance_loops_v4);
#else
const DistanceLoops& distance_loops = distance_loops_baseline;
#endif

}  // namespace lance
