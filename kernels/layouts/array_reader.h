// Pages without levels, as in files 2.0: values, bitmaps of NULLs, ends of strings and keys of dictionaries in buffers.
#pragma once

#include <optional>
#include <variant>

#include "layouts/page_reader.h"

namespace lance {

// A buffer among the bytes of a page.
struct StoredBuffer {
    int64_t start;
    int64_t size;
};

// Values of fixed width, and a bit for each that is not NULL.
struct StoredValues {
    StoredBuffer values;
    std::optional<StoredBuffer> validity;
};

// Adjacent byte strings, and the end (u64) of each; ends of NULLs are greater by null_adjustment.
struct StoredStrings {
    StoredBuffer ends;
    StoredBuffer bytes;
    int64_t null_adjustment;
};

// Keys of the items of a dictionary of byte strings.
struct StoredKeys {
    StoredBuffer keys;
    int64_t key_bits;
    int64_t num_items;
    int64_t offset_bits;
    Bytes offsets;
    Bytes data;
    bool first_is_null;  // whether item 0 means NULL
};

class ArrayReader : public PageReader {
  public:
    using Content = std::variant<StoredValues, StoredStrings, StoredKeys>;

    // size: of the page's bytes; what `content` points at outlives this object
    ArrayReader(ColumnFormat format, int64_t num_rows, int64_t size, const Content& content);

    ColumnFormat format() const override { return format_; }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    void require_bytes(const PageBytes& bytes, int64_t num_rows) const override;
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;
    bool lends() const override;
    std::optional<Bytes> stored_values(const PageBytes& bytes, const Ranges& rows) const override;
    void observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const override;

  private:
    void check(const StoredBuffer& buffer, int64_t needed) const;
    void read_values(const StoredValues& stored, const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const;
    void read_strings(const StoredStrings& stored, const PageBytes& bytes, const Ranges& rows,
                      ColumnBuilder& out) const;
    void keep_valid(const PageBytes& bytes, int64_t first, bool is_valid, MutableBytes flags) const;
    void match_values(const PageBytes& bytes, int64_t first, const PageTest& test, MutableBytes flags) const;
    void match_strings(const PageBytes& bytes, int64_t first, const StringTest& test, MutableBytes flags) const;
    void match_keys(const PageBytes& bytes, int64_t first, const ItemsTest& test, MutableBytes flags) const;
    void look_up(const StoredKeys& stored, const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const;

    ColumnFormat format_;
    int64_t num_rows_;
    int64_t size_;
    Content content_;
};

}  // namespace lance
