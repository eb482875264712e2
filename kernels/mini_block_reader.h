// Mini-block pages without lists: values of fixed width, byte strings, and dictionaries of both.
#pragma once

#include <atomic>
#include <optional>

#include "page_reader.h"

namespace lance {

enum class PageCodec : int {
    kFlat = 0,
    kInlineBitpacking = 1,
    kByteStreamSplit = 2,
    kRle = 3,
    kVariable = 4,
    kFsst = 5,
    kOther = 6,  // only whether values are NULL is known
};

// The items of a dictionary; of fixed width without offset_bits.
struct DictionaryItems {
    int64_t num_items;
    int64_t bits;  // of an item, or of an offset
    bool variable;
    Bytes offsets;
    Bytes data;
};

struct MiniBlockValues {
    PageCodec codec;
    int64_t bits;  // of a value, a word, or an offset
    std::optional<LevelEncoding> definition;
    Bytes symbol_table;  // of kFsst
    std::optional<DictionaryItems> dictionary;
    ColumnFormat format;  // what the values become; with a dictionary and a fixed format that items do not have: indices
    bool keeps_indices;
};

class MiniBlockReader : public PageReader {
  public:
    // table and what the values point at outlive this object
    MiniBlockReader(const ChunkTable& table, const MiniBlockValues& values);

    ColumnFormat format() const override { return values_.format; }
    int64_t num_rows() const override { return table_.num_items(); }
    void require_bytes(const PageBytes& bytes, int64_t num_rows) const override;
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags,
              ColumnBuilder& out) const override;

  private:
    bool is_variable() const { return values_.codec == PageCodec::kVariable || values_.codec == PageCodec::kFsst; }
    // Whether single values can be told apart in decoded chunks.
    bool is_fixed() const {
        const int64_t bits = values_.bits;
        return values_.codec < PageCodec::kVariable && bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0;
    }
    Chunks chunks(const PageBytes& bytes) const;
    FixedWidthEncoding fixed_encoding() const { return {static_cast<int64_t>(values_.codec), values_.bits}; }

    void read_validity(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void read_plain(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void decode_fixed(const Chunks& chunks, const Ranges& rows, MutableBytes out) const;
    void read_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void read_symbols(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void put_indices(Bytes indices, int64_t count, ColumnBuilder& out) const;
    void put_narrow(Bytes values, int64_t count, ColumnBuilder& out) const;
    void take_fixed(const Chunks& chunks, const Ranges& rows, Bytes flags, int64_t num_flags, ColumnBuilder& out) const;
    void take_all(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags, ColumnBuilder& out) const;
    void take_ranges(const PageBytes& bytes, const Ranges& rows, Bytes flags, ColumnBuilder& out) const;

    const ChunkTable& table_;
    MiniBlockValues values_;
    // How many bytes one byte of codes stood for when the page was last read.
    mutable std::atomic<double> expansion_ = 3.0;
};

}  // namespace lance
