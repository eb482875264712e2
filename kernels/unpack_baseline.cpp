#define UNPACK_TABLES unpack_baseline
#include "unpack_group.inc"
