#define UNPACK_TABLES unpack_v4
#include "unpack_group.inc"
