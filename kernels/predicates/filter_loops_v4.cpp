// The loops of filters for processors with AVX-512.
#define FILTER_LOOPS filter_loops_v4
#include "predicates/filter_loops.inc"
