#define FILTER_LOOPS filter_loops_v3
#include "filter_loops.inc"
