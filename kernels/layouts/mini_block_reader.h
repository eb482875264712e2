// Values of mini-block pages inside any lists and structs: values of fixed width, byte strings, and dictionaries of
// both.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "encodings/value_codec.h"
#include "layouts/page_reader.h"
#include "predicates/string_matching.h"
#include "predicates/symbol_matching.h"

namespace lance {

// The items of a dictionary; of fixed width without offset_bits.
struct DictionaryItems {
    int64_t num_items;
    int64_t bits;  // of an item, or of an offset
    bool variable;
    Bytes offsets;
    Bytes data;
};

struct MiniBlockValues {
    ValueCodec codec;
    int64_t bits;  // of a value, a word, or an offset
    std::optional<LevelEncoding> definition;
    Bytes symbol_table;  // of kFsst
    std::optional<DictionaryItems> dictionary;
    ColumnFormat
        format;  // what the values become; with a dictionary and a fixed format that items do not have: indices
    bool keeps_indices;
};

// Items of up to 16 bytes, each in its own slot: they are copied without a branch.
struct ShortStrings {
    static constexpr int64_t kBytes = 16;

    explicit ShortStrings(const DictionaryItems& dictionary);
    static bool fit(const DictionaryItems& dictionary);

    std::vector<std::array<uint64_t, 2>> items;
    std::vector<uint8_t> lengths;
    int64_t longest = 0;
};

class MiniBlockReader : public PageReader {
  public:
    // table and what the values point at outlive this object
    MiniBlockReader(const ChunkTable& table, const MiniBlockValues& values);
    MiniBlockReader(const MiniBlockReader&) = delete;
    MiniBlockReader& operator=(const MiniBlockReader&) = delete;
    ~MiniBlockReader() override { delete item_keys_.load(); }

    ColumnFormat format() const override { return values_.format; }
    int64_t num_rows() const override { return table_.num_items(); }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    std::vector<int64_t> scattered_bytes_of(const Ranges& rows) const override;
    bool takes_extents() const override { return true; }
    void require_bytes(const PageBytes& bytes, int64_t num_rows) const override;
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;
    bool filters_at_once(const PageTest& test) const override;
    void filter(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                ColumnBuilder& out) const override;
    void observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const override;
    void mask_observed(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                       int64_t first_row, ZoneObserver& out) const override;

  private:
    bool is_variable() const { return values_.codec == ValueCodec::kVariable || values_.codec == ValueCodec::kFsst; }
    // Whether single values can be addressed in decoded chunks.
    bool is_fixed() const {
        const int64_t bits = values_.bits;
        return has_fixed_width(values_.codec) && bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0;
    }
    Chunks chunks(const PageBytes& bytes) const;
    void note_share(int64_t num_passed, int64_t num_rows) const {
        if (num_rows > 0)
            share_.store(static_cast<double>(num_passed) / static_cast<double>(num_rows), std::memory_order_relaxed);
    }
    void observe_strings(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const;
    void observe_items(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const;
    // u64 for each item of a dictionary of strings: its first eight bytes.
    Bytes item_keys() const;
    void mask_strings(const PageBytes& bytes, const Ranges& rows, const StringTest& test, MutableBytes flags) const;
    void mask_decoded(const Chunks& chunks, const Ranges& rows, const StringTest& test, MutableBytes flags) const;
    // Null if codes cannot decide the test. rows: that are about to be tested
    std::shared_ptr<const SymbolMatcher> symbol_matcher(const StringTest& test, const Chunks& chunks,
                                                        const Ranges& rows) const;
    FixedWidthEncoding fixed_encoding() const { return {values_.codec, values_.bits}; }

    void read_validity(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void read_plain(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void decode_fixed(const Chunks& chunks, const Ranges& rows, MutableBytes out) const;
    void read_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void read_symbols(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void look_up(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void take_fixed(const Chunks& chunks, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const;
    void filter_strings(const Chunks& chunks, const Ranges& rows, const StringTest& test, MutableBytes flags,
                        ColumnBuilder& out) const;
    void filter_decoded(const Chunks& chunks, const Ranges& run, const StringTest& test, MutableBytes flags,
                        ColumnBuilder& out) const;
    void take_strings(const Chunks& chunks, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const;
    void append_flagged(const Chunks& chunks, const Ranges& rows, Bytes flags, int64_t num_flags,
                        ColumnBuilder& out) const;
    void reserve_strings(const Chunks& chunks, const Ranges& rows, double share, ColumnBuilder& out) const;
    DecodedStrings decode_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const;
    void take_all(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags, ColumnBuilder& out) const;
    void take_ranges(const PageBytes& bytes, const Ranges& rows, Bytes flags, ColumnBuilder& out) const;

    // Indices to items, wide decimals to narrow ones: values that become others, in order.
    class Lookup {
      public:
        Lookup(const MiniBlockReader& page, int64_t num_values, ColumnBuilder& out);
        void add(Bytes decoded, int64_t count);
        void finish();

      private:
        void widen(Bytes indices, int64_t count, uint8_t* to) const;
        void add_short(Bytes indices, int64_t count);

        const MiniBlockValues& values_;
        const ShortStrings* strings_;
        int64_t num_values_;
        ColumnBuilder& out_;
        MutableBytes to_;     // values or offsets
        MutableBytes bytes_;  // of short strings
        PooledBuffer indices_;
        int64_t done_ = 0;
        int64_t position_ = 0;
    };

    // Whether values of chunks are converted.
    bool is_looked_up() const { return values_.dictionary || (is_fixed() && values_.bits != values_.format.bits); }

    const ChunkTable& table_;
    MiniBlockValues values_;
    std::unique_ptr<ShortStrings> strings_;
    // Owned.
    mutable std::atomic<const std::vector<uint64_t>*> item_keys_ = nullptr;
    // Decoded bytes per code byte at the last read of the page.
    mutable std::atomic<double> expansion_ = 3.0;
    // The rows that passed the last test.
    mutable std::atomic<double> share_ = 1.0;
    // Result of the last test of strings.
    mutable std::mutex matcher_mutex_;
    mutable std::shared_ptr<const SymbolMatcher> matcher_;
};

}  // namespace lance
