// Unpacking for any processor.
#define UNPACK_TABLES unpack_baseline
#include "encodings/unpack_group.inc"
