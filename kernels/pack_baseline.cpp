#define PACK_TABLES pack_baseline
#include "pack_group.inc"
