// Packing for any processor.
#define PACK_TABLES pack_baseline
#include "encodings/pack_group.inc"
