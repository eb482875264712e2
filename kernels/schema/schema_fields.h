// The fields of a manifest's schema.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// Common members of fields; see message Field.
struct StoredField {
    Bytes name;
    int32_t id = 0;
    int32_t parent_id = 0;
    Bytes logical_type;
    bool nullable = false;
    bool has_more = false;  // a dictionary, an extension or metadata
};

// The fields of a Manifest message in their order.
std::vector<StoredField> schema_fields(Bytes manifest);

// The fields and the schema metadata of a Manifest message, as they are stored: what its schema is made of.
std::vector<uint8_t> schema_part(Bytes manifest);

}  // namespace lance
