// Decodes values and levels of chunks, and whole blocks; documented in lance_sql/_kernels.pyi.
#pragma once

#include <optional>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "system/bits.h"

namespace lance {

enum class LevelKind { kRepetition, kDefinition };

void flat(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value, MutableBytes out);
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
void scatter_ranges(Bytes data, Bytes starts, Bytes lengths, Bytes out_starts, MutableBytes out);

std::vector<int64_t> mask_to_ranges(Bytes bitmap, int64_t bit_offset, int64_t num_bits);
bool narrow_decimal(Bytes values, int64_t num_values, MutableBytes out);

}  // namespace lance
