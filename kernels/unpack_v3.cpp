#define UNPACK_TABLES unpack_v3
#include "unpack_group.inc"
