#define DISTANCE_LOOPS distance_loops_v4
#include "distance_loops.inc"
