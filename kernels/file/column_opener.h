// Opens columns of a data file 2.1 or 2.2 for reading: from the metadata of the file to readers of its pages.
//
// Columns of the common kinds are opened: mini-block and full-zip pages without nesting, and constants. For all others,
// and for damaged ones, nothing is returned: the caller opens these one by one, and reports errors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "file/column_reader.h"
#include "file/columns.h"
#include "layouts/mini_block_reader.h"
#include "layouts/page_encoding.h"

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

// What a test of a filter needs to know of the values of a page.
struct TestedValues {
    int64_t bits = 0;          // of numbers that are tested as they are stored, or of indices to items; otherwise 0
    bool are_strings = false;  // byte strings that are tested as they are stored
    bool has_nulls = false;    // whether some may be NULL
    std::optional<DictionaryItems> items;  // of a dictionary, or the one value of a constant page
};

// A page, and what its reader looks into.
struct OpenPage {
    int64_t number = 0;
    std::unique_ptr<const ChunkTable> table;
    std::vector<uint8_t> own;       // the symbol table, a short dictionary, or the value of a constant
    std::vector<uint8_t> validity;  // of a constant: a bit for each row
    std::unique_ptr<const PageReader> reader;
    TestedValues values;
    int64_t start = 0;  // its bytes in the file
    int64_t end = 0;
    int64_t num_bytes = 0;        // approximate memory
    bool refers_to_file = false;  // whether the reader looks into the bytes of the file
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
    std::optional<OpenColumn> open(int64_t index, const ColumnFormat& format, const Ranges& rows);

    // Start and end of the bytes that were missing, ascending; neighbors are joined.
    std::vector<int64_t> missing() const;

  private:
    // Notes bytes that are missing.
    std::optional<Bytes> need(int64_t start, int64_t end);
    std::optional<OpenColumn> open_pages(const StoredColumn& stored, const ColumnFormat& format, const Ranges& rows);
    std::optional<OpenPage> open_page(const StoredPage& page, const ColumnFormat& format);
    std::optional<OpenPage> open_constant(const ConstantPage& constant, const StoredPage& page,
                                          const ColumnFormat& format);
    std::optional<OpenPage> open_flat(const FlatPage& flat, const StoredPage& page, const ColumnFormat& format);
    std::optional<OpenPage> open_zip(const ZipPage& zip, const StoredPage& page, const ColumnFormat& format);

    const KnownBytes& file_;
    ColumnTable table_;
    int64_t num_rows_;
    std::vector<int64_t> missing_;
};

}  // namespace lance
