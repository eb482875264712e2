// The distances of vectors for any processor.
#define DISTANCE_LOOPS distance_loops_baseline
#include "search/distance_loops.inc"
