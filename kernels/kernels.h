// The kernels, as module.cpp binds them; lance_sql/_kernels.pyi says what each does.
#pragma once

#include <optional>

#include "bits.h"
#include "chunks.h"
#include "levels.h"
#include "zip.h"

namespace lance {

enum class LevelKind : int { kRepetition = 0, kDefinition = 1 };

void flat(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value,
          MutableBytes out);
void append_flat_bits(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value,
                      BitWriter& out);
void inline_bitpacking(const Chunks& chunks, const Ranges& ranges, int64_t word_bits, MutableBytes out);
void byte_stream_split(const Chunks& chunks, const Ranges& ranges, int64_t num_bytes, MutableBytes out);
void rle(const Chunks& chunks, const Ranges& ranges, int64_t value_bits, MutableBytes out);

int64_t variable_offsets(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, MutableBytes out_offsets,
                         int64_t out_offset_bits);
int64_t variable_bytes(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, MutableBytes out);
int64_t num_variable_bytes(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits);

struct FsstProgress {
    int64_t num_rows;
    int64_t num_bytes;
};

FsstProgress fsst(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, Bytes symbol_table,
                  int64_t start_row, MutableBytes out_offsets, int64_t out_offset_bits, MutableBytes out);
FsstProgress fsst_values(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes symbol_table,
                         int64_t start_row, MutableBytes out_offsets, int64_t out_offset_bits, MutableBytes out);

std::vector<int64_t> num_levels(const Chunks& chunks, int64_t first_chunk, int64_t end_chunk);
int64_t levels(const Chunks& chunks, int64_t first_chunk, int64_t end_chunk, LevelKind kind,
               const LevelEncoding& encoding, MutableBytes out);
int64_t validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& encoding, int64_t threshold,
                 MutableBytes out);
int64_t append_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& encoding, int64_t threshold,
                        BitWriter& out);

void unpack(Bytes packed, int64_t word_bits, int64_t num_bits, int64_t num_values, MutableBytes out);
void unpack_block(Bytes packed, int64_t word_bits, int64_t num_values, MutableBytes out);
void rle_block(Bytes block, int64_t value_bits, int64_t num_values, MutableBytes out);
int64_t lz4_size(Bytes block);

void check_indices(Bytes indices, int64_t index_bits, int64_t num_indices, int64_t num_items);
void gather_fixed(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes items, int64_t num_items, int64_t width,
                  MutableBytes out);
int64_t gather_variable_offsets(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes item_offsets,
                                int64_t item_offset_bits, int64_t num_items, MutableBytes out_offsets,
                                int64_t out_offset_bits);
int64_t gather_variable_bytes(Bytes indices, int64_t index_bits, int64_t num_indices, Bytes item_offsets,
                              int64_t item_offset_bits, int64_t num_items, Bytes data, MutableBytes out);
int64_t gather_ranges(Bytes data, Bytes starts, Bytes lengths, MutableBytes out);
void scatter_ranges(Bytes data, Bytes starts, Bytes lengths, Bytes out_starts, MutableBytes out);

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

struct ZipSize {
    int64_t num_entries = 0;
    int64_t num_visible = 0;
    int64_t num_bytes = 0;  // of the values
};

struct ZipOutput {
    std::optional<MutableBytes> rep;
    std::optional<MutableBytes> def;
    std::optional<MutableBytes> offsets;
    MutableBytes values;
};

ZipSize unzip_scan(Bytes data, int64_t start, int64_t end, const ZipShape& shape);
ZipSize unzip(Bytes data, int64_t start, int64_t end, const ZipShape& shape, const ZipOutput& out,
              int64_t out_offset_bits);
void unzip_fixed(Bytes data, int64_t data_start, const Ranges& ranges, int64_t bits_def, int64_t value_bytes,
                 MutableBytes out_values, std::optional<MutableBytes> out_def);
int64_t unzip_row_offsets(Bytes data, Bytes row_starts, int64_t num_rows, int64_t bits_def, int64_t length_bytes,
                          std::optional<MutableBytes> out_def, MutableBytes out_offsets, int64_t out_offset_bits);
int64_t unzip_row_bytes(Bytes data, Bytes row_starts, int64_t num_rows, int64_t bits_def, int64_t length_bytes,
                        MutableBytes out);

std::vector<int64_t> mask_to_ranges(Bytes bitmap, int64_t bit_offset, int64_t num_bits);
bool narrow_decimal(Bytes values, int64_t num_values, MutableBytes out);

}  // namespace lance
