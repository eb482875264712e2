// Source: messages lance.table.Manifest and lance.file.Field.
#include "schema/schema_fields.h"

#include "proto/wire.h"

namespace lance {

namespace {

constexpr int64_t kManifestFields = 1;
constexpr int64_t kManifestSchemaMetadata = 5;
constexpr int64_t kDictionary = 8;
constexpr int64_t kMetadata = 10;

StoredField stored_field(Bytes message) {
    StoredField field;
    for (const WireField& part : WireReader(message)) {
        field.has_more |= part.number >= kDictionary && part.number <= kMetadata;
        if (part.type == WireType::kBytes) {
            if (part.number == 2) field.name = part.bytes;
            if (part.number == 5) field.logical_type = part.bytes;
        } else if (part.type == WireType::kVarint) {
            // of numbers that are too long, protobuf takes the low bits
            if (part.number == 3) field.id = static_cast<int32_t>(part.value);
            if (part.number == 4) field.parent_id = static_cast<int32_t>(part.value);
            if (part.number == 6) field.nullable = part.value != 0;
        }
    }
    return field;
}

}  // namespace

std::vector<StoredField> schema_fields(Bytes manifest) {
    std::vector<StoredField> fields;
    for (const WireField& part : WireReader(manifest)) {
        if (part.number == kManifestFields && part.type == WireType::kBytes) fields.push_back(stored_field(part.bytes));
    }
    return fields;
}

std::vector<uint8_t> schema_part(Bytes manifest) {
    std::vector<uint8_t> part;
    WireReader fields(manifest);
    while (!fields.done()) {
        const auto start = static_cast<size_t>(fields.position());
        const WireField field = fields.next();
        if (field.number != kManifestFields && field.number != kManifestSchemaMetadata) continue;
        const Bytes whole = manifest.subspan(start, static_cast<size_t>(fields.position()) - start);
        part.insert(part.end(), whole.begin(), whole.end());
    }
    return part;
}

}  // namespace lance
