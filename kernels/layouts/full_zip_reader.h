// Full-zip pages without lists: large values of fixed or variable width, each after its level.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "encodings/compression.h"
#include "layouts/page_reader.h"
#include "layouts/zip.h"

namespace lance {

struct FullZipValues {
    int64_t bits_def;                        // of the definition level in front of each value; 0: no level
    int64_t num_levels;                      // definition levels from 1 up to this are NULL, none is above
    int64_t value_bytes;                     // of fixed width
    int64_t length_bytes;                    // of variable width: 4 or 8; 0: fixed width
    Bytes symbol_table;                      // empty if values are stored plain
    ColumnFormat format;                     // what the values become
    std::optional<Compression> compression;  // of each value of variable width that is not empty
};

class FullZipReader : public PageReader {
  public:
    // row_starts: the start of each row in the page, and the end of the last; none if all have one width
    FullZipReader(const FullZipValues& values, int64_t num_rows, std::optional<std::vector<int64_t>> row_starts);

    ColumnFormat format() const override { return values_.format; }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    void require_bytes(const PageBytes& bytes, int64_t num_rows) const override;
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;
    bool lends() const override { return is_fixed() && shape_.control_bytes == 0; }
    std::optional<Bytes> stored_values(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    int64_t start_of(int64_t row) const { return is_fixed() ? row * stride() : row_starts_[static_cast<size_t>(row)]; }
    bool is_fixed() const { return values_.length_bytes == 0; }
    int64_t stride() const { return shape_.control_bytes + values_.value_bytes; }
    // Calls visit(position, entry) for each of the rows.
    template <class Visit>
    void for_each_entry(const PageBytes& bytes, const Ranges& rows, Visit visit) const;
    void read_fixed(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const;
    void read_compressed(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const;
    void read_variable(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const;
    void add_rows(Bytes levels, int64_t count, ColumnBuilder& out) const;
    void require_level(int64_t level) const;

    FullZipValues values_;
    int64_t num_rows_;
    ZipShape shape_;
    std::vector<int64_t> row_starts_;
    // Decoded bytes per code byte at the last read of the page.
    mutable std::atomic<double> expansion_ = 4.0;
};

}  // namespace lance
