#define PACK_TABLES pack_v3
#include "pack_group.inc"
