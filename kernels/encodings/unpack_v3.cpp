// Unpacking for processors with AVX2.
#define UNPACK_TABLES unpack_v3
#include "encodings/unpack_group.inc"
