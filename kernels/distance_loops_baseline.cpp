#define DISTANCE_LOOPS distance_loops_baseline
#include "distance_loops.inc"
