// Numbers that no file has: runs of equal ones, as versions of rows are, or of such that follow each other, as row ids.
#pragma once

#include <vector>

#include "layouts/page_reader.h"

namespace lance {

class NumberRunsReader : public PageReader {
  public:
    // starts: int64, the first row of each run, ascending from 0; values: uint64, the number of that row
    // step: what the next row of a run has more, 0 or 1
    NumberRunsReader(int64_t num_rows, Bytes starts, Bytes values, int64_t step);

    ColumnFormat format() const override { return {false, 64}; }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    void require_bytes(const PageBytes&, int64_t) const override {}
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;

  private:
    // The last run that begins at or before the row.
    size_t run_of(int64_t row) const;
    void fill(int64_t first, int64_t end, uint64_t* out) const;
    template <class Visit>
    void for_each_block(const Ranges& rows, Visit visit) const;
    template <class Visit>
    void for_each_place(const Ranges& rows, const PassedRows& passed, Visit visit) const;

    int64_t num_rows_;
    std::vector<int64_t> starts_;
    std::vector<uint64_t> values_;
    uint64_t step_;
};

}  // namespace lance
