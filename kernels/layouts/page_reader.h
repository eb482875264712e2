// One opened page of any layout and encoding: returns the values of rows, and the results of a test.
#pragma once

#include <optional>
#include <utility>

#include "arrow/column_builder.h"
#include "encodings/chunks.h"
#include "predicates/page_test.h"
#include "predicates/passed_rows.h"

namespace lance {

// The first value buffers of some chunks, decompressed; see Chunks::with_first_buffer.
struct ReplacedBuffers {
    int64_t first_chunk;
    Bytes data;
    Bytes offsets;
};

// Bytes [start, start + data.size()) of what a page keeps its values in.
struct PageBytes {
    Bytes data;
    int64_t start;
    std::optional<ReplacedBuffers> replaced;
    const Extents* extents = nullptr;  // of `data`, if that has parts of a file in which the page begins at `start`

    int64_t size() const { return size_of(data) + (replaced ? size_of(replaced->data) : 0); }
};

class CompositeReader;
class NestedReader;
class ZoneObserver;

// Additional rows that an array for `filter` or `take` must have room for.
constexpr int64_t kSpareRows = 4096;

// Immutable, but for what it has learnt of sizes; any number of threads may use one.
class PageReader {
  public:
    virtual ~PageReader() = default;

    virtual ColumnFormat format() const = 0;
    virtual int64_t num_rows() const = 0;

    // The bytes that hold the rows, among those of the page: start and end.
    virtual std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const = 0;
    // The needed bytes as pairs of start and end, if the rows are far apart and most bytes between them are not needed;
    // otherwise nothing.
    virtual std::vector<int64_t> scattered_bytes_of(const Ranges&) const { return {}; }
    // Whether bytes may be those alone.
    virtual bool takes_extents() const { return false; }
    // Refuses more rows than the bytes can hold, before memory is taken for them.
    virtual void require_bytes(const PageBytes& bytes, int64_t num_rows) const = 0;
    // Appends the rows.
    virtual void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const = 0;
    // Clears the flags of rows that do not match; flags: a byte for each of the rows.
    virtual void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const = 0;
    // Appends those of the rows that have passed, to an array with spare rows.
    virtual void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed,
                      ColumnBuilder& out) const = 0;
    // Whether `filter` decodes values once, instead of `mask` and `take`.
    virtual bool filters_at_once(const PageTest&) const { return false; }
    // Clears the flags of rows that do not match, and appends those that are left.
    virtual void filter(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                        ColumnBuilder& out) const {
        mask(bytes, rows, test, flags);
        const Bytes left = flags.first(static_cast<size_t>(rows.num_items()));
        take(bytes, rows, PassedRows(left, count_flags(left)), out);
    }
    // Whether values are stored in Arrow's layout, and none of them is NULL.
    virtual bool lends() const { return false; }
    // The rows as stored in the page, if it lends them.
    virtual std::optional<Bytes> stored_values(const PageBytes&, const Ranges&) const { return std::nullopt; }
    // Itself, if its values are inside lists or structs.
    virtual const NestedReader* nested() const { return nullptr; }
    // Itself, if its values have parts, which only a nested page around them reads.
    virtual const CompositeReader* composite() const { return nullptr; }
    // Passes the values of the rows to an observer, if their kind has bounds; first_row: of the page in the file.
    virtual void observe(const PageBytes&, const Ranges&, int64_t, ZoneObserver&) const {}
    // Both, of values that are decoded once; all of the flags are set.
    virtual void mask_observed(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                               int64_t first_row, ZoneObserver& out) const {
        observe(bytes, rows, first_row, out);
        mask(bytes, rows, test, flags);
    }
};

// Some rows of one page, and the bytes that hold them.
struct PagePart {
    const PageReader* page;
    Ranges rows;
    PageBytes bytes;
    size_t number;  // of the page, by which a failure names it
};

}  // namespace lance
