// Unpacking for processors with AVX-512.
#define UNPACK_TABLES unpack_v4
#include "encodings/unpack_group.inc"
