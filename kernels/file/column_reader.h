// A column of a file: its pages, of which those that were needed so far are open.
#pragma once

#include <vector>

#include "layouts/page_reader.h"

namespace lance {

// Bytes of a page, from byte `start` of the file on.
struct FilePart {
    size_t page;
    Bytes data;
    int64_t start;
    Extents extents;  // empty if all following bytes belong to it
};
using FileParts = std::vector<FilePart>;  // pages ascend

// Some rows of one page.
struct PageRows {
    size_t page;
    const PageReader* reader;
    std::vector<int64_t> pairs;  // the ranges, relative to the page
    int64_t position;            // of the first row among all requested rows

    Ranges rows() const { return Ranges(as_bytes(pairs), reader->num_rows()); }
};

class ColumnReader {
  public:
    // row_starts: first row of each page, then the number of rows; ascending
    explicit ColumnReader(Bytes row_starts);

    int64_t num_rows() const { return row_starts_.back(); }
    const std::vector<int64_t>& row_starts() const { return row_starts_; }
    int64_t first_row(size_t page) const { return row_starts_[page]; }
    int64_t num_pages() const { return static_cast<int64_t>(pages_.size()); }

    // The bytes of the page in the file; the reader outlives this object.
    void open(int64_t page, const PageReader& reader, int64_t start, int64_t end);

    bool is_open(int64_t page) const {
        return page < num_pages() && pages_[static_cast<size_t>(page)].reader != nullptr;
    }

    // Whether an open page lends its values; see PageReader.
    bool lends() const { return lends_; }

    // The first page of the rows, and one past the last.
    std::pair<int64_t, int64_t> pages_of(int64_t first_row, int64_t end_row) const;

    // The rows of each page, all of which are open.
    std::vector<PageRows> split(const Ranges& rows) const;

    // Bytes of the file with the rows: (page, start, end) for each page that has bytes.
    std::vector<int64_t> spans(const Ranges& rows) const;

    // As `bytes`, with several parts of a page if its rows are far apart.
    std::vector<int64_t> scattered_spans(const Ranges& rows) const;

    // The bytes that belong to a page.
    PageBytes bytes(size_t page, const FileParts& parts) const;

    // Visits the rows in open pages; arguments as for `bytes`.
    void observe(const Ranges& rows, const FileParts& parts, ZoneObserver& out) const;

  private:
    struct Page {
        const PageReader* reader = nullptr;
        int64_t start = 0;
        int64_t end = 0;
    };

    void add_span(const PageRows& part, int64_t start, int64_t end, std::vector<int64_t>& page_spans) const;

    std::vector<int64_t> row_starts_;
    std::vector<Page> pages_;
    bool lends_ = false;
};

}  // namespace lance
