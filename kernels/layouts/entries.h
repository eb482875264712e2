// Splits levels of entries into layers, and entries of one width into levels and values.
#pragma once

#include <optional>

#include "encodings/chunks.h"
#include "layouts/zip.h"

namespace lance {

// The levels of one list layer; 0 as empty_level: the layer has no empty lists.
struct ListLayer {
    uint16_t base;
    uint16_t empty_level;
    uint16_t max_slot_level;
};

struct ListLayerResult {
    int64_t num_slots;
    int64_t num_kept;
    int64_t num_valid;
};

ListLayerResult list_layer(Bytes rep, std::optional<Bytes> def, int64_t num_entries, ListLayer layer,
                           MutableBytes out_offsets, int64_t out_offset_bits, std::optional<MutableBytes> out_validity,
                           MutableBytes out_rep, std::optional<MutableBytes> out_def);

struct ItemLayerResult {
    int64_t num_slots;
    int64_t num_valid;
};

ItemLayerResult item_layer(Bytes def, int64_t num_entries, int64_t max_slot_level, int64_t base, MutableBytes out);

struct RowSelection {
    int64_t entry_start;
    int64_t entry_end;
    int64_t items_before;
    int64_t num_items;
};

RowSelection select_rows(Bytes rep, std::optional<Bytes> def, int64_t num_entries, int64_t max_rep, int64_t max_visible,
                         int64_t skip_rows, int64_t num_rows);

void unzip_fixed(Bytes data, int64_t data_start, const Ranges& ranges, int64_t bits_def, int64_t value_bytes,
                 MutableBytes out_values, std::optional<MutableBytes> out_def);

}  // namespace lance
