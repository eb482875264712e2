// Pages of one value for all of their rows, but for those that are NULL.
#pragma once

#include <optional>

#include "layouts/page_reader.h"

namespace lance {

class ConstantReader : public PageReader {
  public:
    // value: the value of each row, a bit in its own byte; NULL without one
    // validity: a bit for each row, 0 for NULL; none if all rows have the value Both outlive this object.
    ConstantReader(ColumnFormat format, int64_t num_rows, std::optional<Bytes> value,
                   std::optional<Bytes> validity = std::nullopt);

    ColumnFormat format() const override { return format_; }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    void require_bytes(const PageBytes&, int64_t) const override {}
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;
    void observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const override;

  private:
    // Values; counts their rows if all are NULL, or none is.
    void repeat(int64_t count, ColumnBuilder& out) const;
    // Calls visit(bits, count) for the validity of the rows, 64 of them at most at a time.
    template <class Visit>
    void for_each_bits(const Ranges& rows, Visit visit) const;
    // For a page in which some rows are NULL.
    void observe_some(const Ranges& rows, int64_t first_row, ZoneObserver& out) const;
    void add_validity(const Ranges& rows, ColumnBuilder& out) const;
    void repeat_bits(int64_t count, uint64_t bit, ColumnBuilder& out) const;
    void repeat_bytes(Bytes value, int64_t count, uint8_t* to) const;
    void repeat_string(Bytes value, int64_t count, ColumnBuilder& out) const;

    ColumnFormat format_;
    int64_t num_rows_;
    std::optional<Bytes> value_;
    std::optional<Bytes> validity_;
};

}  // namespace lance
