// Chooses the packing functions once, when the module is loaded.
#include "encodings/pack_group.h"
#include "system/processor.h"

namespace lance {

extern const PackTables pack_baseline;

#ifdef LANCE_UNPACK_V3
extern const PackTables pack_v3;

const PackTables& pack_tables = has_v3() ? pack_v3 : pack_baseline;
#else
const PackTables& pack_tables = pack_baseline;
#endif

}  // namespace lance
