#define FILTER_LOOPS filter_loops_baseline
#include "filter_loops.inc"
