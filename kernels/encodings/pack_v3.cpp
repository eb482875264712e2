// Packing for processors with AVX2.
#define PACK_TABLES pack_v3
#include "encodings/pack_group.inc"
