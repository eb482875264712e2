// Chooses the unpacking functions once, when the module is loaded.
#include "encodings/unpack_group.h"
#include "system/processor.h"

namespace lance {

extern const UnpackTables unpack_baseline;

#ifdef LANCE_UNPACK_V3
extern const UnpackTables unpack_v3;
extern const UnpackTables unpack_v4;

const UnpackTables& unpack_tables = fastest(unpack_baseline, unpack_v3, unpack_v4);
#else
const UnpackTables& unpack_tables = unpack_baseline;
#endif

}  // namespace lance
