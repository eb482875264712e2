// Pages of one value, or of NULLs, for all of their rows.
#pragma once

#include <optional>

#include "page_reader.h"

namespace lance {

class ConstantReader : public PageReader {
  public:
    // value: what each row holds, a bit in a byte of its own; NULL without one; outlives this object
    ConstantReader(ColumnFormat format, int64_t num_rows, std::optional<Bytes> value);

    ColumnFormat format() const override { return format_; }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    void require_bytes(const PageBytes&, int64_t) const override {}
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed,
              ColumnBuilder& out) const override;
    void observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const override;

  private:
    void repeat(int64_t count, ColumnBuilder& out) const;
    void repeat_bits(int64_t count, uint64_t bit, ColumnBuilder& out) const;
    void repeat_bytes(Bytes value, int64_t count, uint8_t* to) const;
    void repeat_string(Bytes value, int64_t count, ColumnBuilder& out) const;

    ColumnFormat format_;
    int64_t num_rows_;
    std::optional<Bytes> value_;
};

}  // namespace lance
