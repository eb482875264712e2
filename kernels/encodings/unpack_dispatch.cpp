// Chooses the unpacking functions once, when the module is loaded.
#include "encodings/unpack_group.h"
#include "system/processor.h"

namespace lance {

extern const UnpackTables unpack_baseline;

#ifdef LANCE_UNPACK_V3
extern const UnpackTables unpack_v3;
extern const UnpackTables unpack_v4;

namespace {

const UnpackTables& choose() {
    if (has_v4()) return unpack_v4;
    return has_v3() ? unpack_v3 : unpack_baseline;
}

}  // namespace

const UnpackTables& unpack_tables = choose();
#else
const UnpackTables& unpack_tables = unpack_baseline;
#endif

}  // namespace lance
