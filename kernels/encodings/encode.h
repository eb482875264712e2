// The kernels that write, bound by bind/encode.cpp; documented in lance_sql/_kernels.pyi.
#pragma once

#include <optional>
#include <vector>

#include "system/bytes.h"

namespace lance {

// Parts of one buffer: part i is data[offsets[i] : offsets[i + 1]].
class Parts {
  public:
    // offsets: int64
    Parts(Bytes data, Bytes offsets) : data_(data), offsets_(offsets) {
        if (offsets.size() < 8 || offsets.size() % 8 != 0) fail("offsets of ", offsets.size(), " bytes");
    }

    int64_t size() const { return size_of(offsets_) / 8 - 1; }

    Bytes operator[](int64_t i) const {
        const int64_t start = load<int64_t>(offsets_.data() + 8 * i);
        const int64_t end = load<int64_t>(offsets_.data() + 8 * i + 8);
        if (start < 0 || start > end || end > size_of(data_)) {
            fail("part ", i, " is bytes ", start, " to ", end, " of ", data_.size());
        }
        return data_.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
    }

  private:
    Bytes data_;
    Bytes offsets_;
};

// First items of chunks: int64[num_chunks + 1], from 0, ascending.
class Starts {
  public:
    Starts(Bytes starts, int64_t num_items) : starts_(starts) {
        if (starts.size() < 16 || starts.size() % 8 != 0) fail("chunk starts of ", starts.size(), " bytes");
        if ((*this)[0] != 0 || (*this)[size()] != num_items) fail("chunks that do not hold ", num_items, " items");
        for (int64_t i = 0; i < size(); ++i) {
            if ((*this)[i] > (*this)[i + 1]) fail("chunk ", i, " begins behind chunk ", i + 1);
        }
    }

    int64_t size() const { return size_of(starts_) / 8 - 1; }
    int64_t operator[](int64_t i) const { return load<int64_t>(starts_.data() + 8 * i); }

  private:
    Bytes starts_;
};

struct ChunkParts {
    std::optional<Parts> rep;
    std::optional<Parts> def;
    std::vector<Parts> values;
};

void assemble_chunks(Bytes chunk_starts, Bytes num_levels, const ChunkParts& parts, bool large, MutableBytes out);

int64_t variable_chunks(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes item_starts,
                        Bytes out_starts, MutableBytes out);

// Bits of the widest value of each chunk of up to 1024 values.
void group_widths(Bytes values, int64_t word_bits, int64_t num_values, Bytes item_starts, MutableBytes out);
void pack_inline(Bytes values, int64_t word_bits, int64_t num_values, Bytes item_starts, Bytes bit_widths,
                 MutableBytes out);
void pack(Bytes values, int64_t word_bits, int64_t num_bits, int64_t num_values, Bytes item_starts, Bytes out_starts,
          MutableBytes out);

int64_t count_changes(Bytes values, int64_t value_bits, int64_t num_values);
void count_runs(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, MutableBytes out);
void encode_runs(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, MutableBytes out_values,
                 MutableBytes out_lengths);
void encode_run_blocks(Bytes values, int64_t value_bits, int64_t num_values, Bytes item_starts, Bytes run_counts,
                       MutableBytes out);

// The bits of each chunk from a whole byte on.
void align_bits(Bytes bits, int64_t bits_per_value, int64_t num_values, Bytes item_starts, Bytes out_starts,
                MutableBytes out);

void split_bytes(Bytes values, int64_t width, int64_t num_values, Bytes item_starts, MutableBytes out);

// The number of each value among the distinct ones (u32), and the first position of each of those (int64); returns
// their count, or -1 if out_firsts is too small.
int64_t number_fixed(Bytes values, int64_t width, int64_t num_values, MutableBytes out_indices,
                     MutableBytes out_firsts);
int64_t number_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, MutableBytes out_indices,
                       MutableBytes out_firsts);
int64_t sample_fixed(Bytes values, int64_t width, int64_t num_values, int64_t num_blocks, int64_t block_items);
int64_t sample_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, int64_t num_blocks,
                       int64_t block_items);

inline constexpr int64_t kSymbolTableBytes = 2312;

void fsst_train(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, int64_t sample_bytes,
                MutableBytes out);
int64_t fsst_encode(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes symbol_table,
                    MutableBytes out_offsets, MutableBytes out);

void check_offsets(Bytes offsets, int64_t offset_bits, int64_t num_values, int64_t num_items);
int64_t longest_string(Bytes offsets, int64_t offset_bits, int64_t num_values);

}  // namespace lance
