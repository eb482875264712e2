// The loops of filters for processors with AVX2.
#define FILTER_LOOPS filter_loops_v3
#include "predicates/filter_loops.inc"
