// The kernels, as module.cpp binds them; lance_sql/_kernels.pyi says what each does.
#pragma once

#include "chunks.h"
#include "levels.h"

namespace lance {

enum class LevelKind : int { kRep = 0, kDef = 1 };

void flat(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value,
          MutableBytes out);
void inline_bitpacking(const Chunks& chunks, const Ranges& ranges, int64_t word_bits, MutableBytes out);
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
int64_t levels_to_bitmap(Bytes levels, int64_t num_levels, int64_t threshold, MutableBytes out);
void decode_levels(Bytes buffer, const LevelEncoding& encoding, int64_t num_levels, MutableBytes out);

void unpack(Bytes packed, int64_t word_bits, int64_t num_bits, int64_t num_values, MutableBytes out);
void unpack_block(Bytes packed, int64_t word_bits, int64_t num_values, MutableBytes out);
void rle_block(Bytes block, int64_t value_bits, int64_t num_values, MutableBytes out);

}  // namespace lance
