// Steps that the openers of all layouts share.
#pragma once

#include "encodings/value_codec.h"
#include "layouts/cells.h"
#include "layouts/level_source.h"
#include "layouts/open_page.h"

namespace lance {

// Estimated memory of a page.
constexpr int64_t kPageBytes = 4096;

// How the kernels decode values without parts.
struct ValueDecoding {
    ValueCodec codec;
    int64_t bits;  // of a value, a word or an offset
    Bytes symbol_table;
};

constexpr bool is_string(ValueCodec codec) { return codec == ValueCodec::kVariable || codec == ValueCodec::kFsst; }

// Nothing for values with parts, and those that have no codec. list_size: as for ColumnFormat
std::optional<ValueDecoding> decoding_of(const EncodingTree& values, int64_t list_size);
// Whether decoded values become the format; those of 128 bits a narrow decimal.
bool fits(const ValueDecoding& decoding, const ColumnFormat& format, bool narrows);
// The values inside of general compression, and the compression.
const EncodingTree& uncompressed(const EncodingTree& values);
std::optional<Compression> compression_of(const EncodingTree& values);

EntryRules rules_of(const Layers& layers);

// Opens a page as an array of all its layers. page.inside has the reader of its values; levels: none if no level is
// known; tested: tests which rows are NULL, if only structs are around
void open_nested(OpenPage& page, std::unique_ptr<const PageReader> values, std::unique_ptr<const LevelSource> levels,
                 std::vector<NestedLayer> layers, int64_t num_rows, bool are_null,
                 std::unique_ptr<const PageReader> tested = nullptr);

// Fixed-size lists of numbers or NULLs, as parts of a value.
CellEncoding list_cells(const EncodingTree& encoding);
// Values of one width, and byte strings, between levels.
CellEncoding fixed_cells(const EncodingTree& encoding, OwnBytes& own);
CellEncoding string_cells(const EncodingTree& encoding, OwnBytes& own);
// Values in chunks.
CellEncoding chunk_cells(const EncodingTree& encoding);

// Throws the same error, with the type that values become.
[[noreturn]] void rethrow_becoming(const InvalidData& error, const ColumnType& type);

void open_mini_block(const MiniBlockLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page);
void open_full_zip(const FullZipLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page);
void open_constant(const ConstantLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page);

}  // namespace lance
