// Values that have parts, or that lie between levels: read as the innermost array of a nested page.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "layouts/cells.h"
#include "layouts/page_reader.h"
#include "layouts/zip.h"

namespace lance {

// A nested page reads them; alone they are no column.
class CompositeReader : public PageReader {
  public:
    explicit CompositeReader(ValueShape shape) : shape_(std::move(shape)) {}

    const CompositeReader* composite() const override { return this; }
    const ValueShape& shape() const { return shape_; }

    // Appends num_items values, which the page keeps at `items`; validity: a bit for each, null if none is NULL.
    virtual void append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                        ValueBuilder& out) const = 0;

    ColumnFormat format() const override { return {false, 8}; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    void require_bytes(const PageBytes&, int64_t) const override {}
    void read(const PageBytes&, const Ranges&, ColumnBuilder&) const override { refuse(); }
    void mask(const PageBytes&, const Ranges&, const PageTest&, MutableBytes) const override { refuse(); }
    void take(const PageBytes&, const Ranges&, const PassedRows&, ColumnBuilder&) const override { refuse(); }

  private:
    [[noreturn]] static void refuse() { fail("values with parts are no column of values"); }

    ValueShape shape_;
};

// In the chunks of a mini-block page: lists with bitmaps, or structs of fields of fixed width. Items are numbers of
// values.
class ChunkComposites : public CompositeReader {
  public:
    // compression: of the first buffer of each chunk; table outlives this object
    ChunkComposites(ValueShape shape, const ChunkTable& table, CellEncoding encoding,
                    std::optional<Compression> compression);

    int64_t num_rows() const override { return table_.num_items(); }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    void require_bytes(const PageBytes& bytes, int64_t num_items) const override;
    void append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                ValueBuilder& out) const override;

  private:
    void append_chunks(const Chunks& chunks, const Ranges& items, int64_t num_items, const uint8_t* validity,
                       ValueBuilder& out) const;

    const ChunkTable& table_;
    CellEncoding encoding_;
    std::optional<Compression> compression_;
};

// Between the levels of a full-zip page. Items are ranges of its bytes, each of whole entries.
class ZipComposites : public CompositeReader {
  public:
    // num_bytes: of the page
    ZipComposites(ValueShape shape, ZipShape entries, CellEncoding encoding, int64_t num_bytes);

    int64_t num_rows() const override { return num_bytes_; }
    void append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                ValueBuilder& out) const override;

  private:
    ZipShape entries_;
    CellEncoding encoding_;
    int64_t num_bytes_;
};

// One value for all rows, or NULL with everything inside; structs without members are not NULL.
class RepeatedComposites : public CompositeReader {
  public:
    // value: of one width; it outlives this object
    RepeatedComposites(ValueShape shape, int64_t num_rows, std::optional<Bytes> value);

    int64_t num_rows() const override { return num_rows_; }
    void append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                ValueBuilder& out) const override;

  private:
    int64_t num_rows_;
    std::optional<Bytes> value_;
};

}  // namespace lance
