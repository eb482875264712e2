#define FILTER_LOOPS filter_loops_v4
#include "filter_loops.inc"
