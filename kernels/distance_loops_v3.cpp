#define DISTANCE_LOOPS distance_loops_v3
#include "distance_loops.inc"
