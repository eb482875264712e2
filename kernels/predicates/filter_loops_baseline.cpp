// The loops of filters for any processor.
#define FILTER_LOOPS filter_loops_baseline
#include "predicates/filter_loops.inc"
