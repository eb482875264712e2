// Opens columns of a data file 2.1 or 2.2 for reading: from the metadata of the file to readers of its pages.
//
// For damaged columns, and those of which a page has no reader, nothing is returned: the caller opens their pages one
// by one, and reports errors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "file/column_reader.h"
#include "file/columns.h"
#include "layouts/open_page.h"

namespace lance {

// Parts of a file that are in memory.
class KnownBytes {
  public:
    explicit KnownBytes(int64_t file_size) : file_size_(file_size) {}

    // data: bytes of the file from `start` on
    void add(int64_t start, Bytes data) { parts_[start] = data; }
    // Nothing for bytes that are not all in one part; bytes outside the file are damage.
    std::optional<Bytes> find(int64_t start, int64_t end) const;
    int64_t file_size() const { return file_size_; }

  private:
    int64_t file_size_;
    std::map<int64_t, Bytes> parts_;  // by start
};

// A column, and its pages with some rows.
struct OpenColumn {
    std::vector<int64_t> row_starts;  // first row of each page, then the number of rows
    std::vector<OpenPage> pages;
};

// The table of (position, size) of the metadata of columns.
class ColumnTable {
  public:
    explicit ColumnTable(Bytes entries) : entries_(entries) {}
    // The start and end of an entry's bytes.
    std::pair<int64_t, int64_t> entry(int64_t index, int64_t file_size) const;

  private:
    Bytes entries_;
};

// Opens columns of one file.
class ColumnOpener {
  public:
    // num_rows: that each column must have
    ColumnOpener(const KnownBytes& file, ColumnTable table, int64_t num_rows)
        : file_(file), table_(table), num_rows_(num_rows) {}

    // Opens the pages with some of the rows. Nothing for a column that the caller opens, or of which bytes are missing.
    std::optional<OpenColumn> open(int64_t index, const ColumnType& type, const Ranges& rows);

    // Start and end of the bytes that were missing, ascending; neighbors are joined.
    std::vector<int64_t> missing() const;

  private:
    // Notes bytes that are missing.
    std::optional<Bytes> need(int64_t start, int64_t end);
    std::optional<OpenColumn> open_pages(const StoredColumn& stored, const ColumnType& type, const Ranges& rows);
    // Nothing if bytes are missing.
    std::optional<OpenPage> open_stored(const StoredPage& page, const ColumnType& type);

    const KnownBytes& file_;
    ColumnTable table_;
    int64_t num_rows_;
    std::vector<int64_t> missing_;
};

}  // namespace lance
