// The distances of vectors for processors with AVX2.
#define DISTANCE_LOOPS distance_loops_v3
#include "search/distance_loops.inc"
