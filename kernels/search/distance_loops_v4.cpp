// The distances of vectors for processors with AVX-512.
#define DISTANCE_LOOPS distance_loops_v4
#include "search/distance_loops.inc"
