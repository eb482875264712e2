// Python objects of pages, columns and tests of the kernels, with the buffers that they read.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/python.h"
#include "file/batch_reader.h"
#include "file/column_opener.h"
#include "file/column_reader.h"
#include "layouts/page_reader.h"
#include "system/buffers.h"

namespace lance {

// A reader and the buffers that it looks into.
struct BoundPage {
    BoundPage() = default;
    BoundPage(const BoundPage&) = delete;
    BoundPage& operator=(const BoundPage&) = delete;

    // Null for a page of a file that has none.
    const PageReader* get() const { return stored ? stored->reader.get() : reader.get(); }

    std::vector<InputBuffer> buffers;
    nb::object values;  // the reader of the values inside structs
    std::unique_ptr<PageReader> reader;
    std::optional<OpenPage> stored;  // of files 2.1 and 2.2, instead of a reader alone
};

struct BoundTest {
    explicit BoundTest(PageTest test) : test(test) {}
    BoundTest(BoundTest&&) = default;
    BoundTest& operator=(BoundTest&&) = default;

    std::vector<InputBuffer> buffers;
    PageTest test;
};

// An exported Arrow array, until its importer takes it.
struct BoundArray {
    explicit BoundArray(const ArrowArray& array) : array(array) {}
    BoundArray(const BoundArray&) = delete;
    BoundArray& operator=(const BoundArray&) = delete;
    ~BoundArray() {
        if (array.release != nullptr) array.release(&array);
    }

    ArrowArray array;
};

inline ColumnFormat to_format(const std::pair<bool, Count>& format, const std::optional<Count>& list_size) {
    const int64_t bits = format.second;
    if (bits < 1) fail("values of ", bits, " bits");
    if (!list_size) return {format.first, bits};
    const int64_t num_items = *list_size;
    if (format.first || num_items < 1 || bits % (8 * num_items) != 0) {
        fail("lists of ", num_items, " items in values of ", bits, " bits");
    }
    return {false, bits, num_items};
}

// (page, bytes, their start in the file, extents or None); keep(object) holds a buffer and returns its bytes.
template <class Keep>
FileParts to_parts(nb::handle list, Keep keep) {
    FileParts parts;
    for (nb::handle each : list) {
        const auto given = nb::cast<nb::tuple>(each);
        const auto page = static_cast<size_t>(to_count(given[0]));
        if (!parts.empty() && parts.back().page >= page) fail("parts of pages that do not ascend");
        const Bytes bytes = keep(given[1]);
        Extents extents;
        if (nb::len(given) > 3 && !given[3].is_none()) extents = Extents(hold(given[3]), size_of(bytes));
        parts.push_back({page, bytes, to_count(given[2]), std::move(extents)});
    }
    return parts;
}

// Holds a buffer as long as the page; nothing if none is given.
inline std::optional<Bytes> keep(BoundPage& page, const nb::object& buffer) {
    if (buffer.is_none()) return std::nullopt;
    page.buffers.push_back(hold(buffer));
    return page.buffers.back();
}

// (number, bits of a value or of an offset, offsets or None, bytes)
nb::tuple to_tuple(const Block& block);

void bind_array_pages(nb::class_<BoundPage>& page);
void bind_stored_pages(nb::module_& m, nb::class_<BoundPage>& page);

// A column, the readers of whose pages it keeps alive.
struct BoundColumn {
    explicit BoundColumn(Bytes row_starts) : reader(row_starts) {}
    BoundColumn(const BoundColumn&) = delete;
    BoundColumn& operator=(const BoundColumn&) = delete;

    ColumnReader reader;
    std::vector<nb::object> pages;                        // and what they look into
    std::unordered_map<int64_t, OpenPage> own_pages;      // by number: those that were opened with others of a file
    std::unordered_map<int64_t, const OpenPage*> stored;  // all of files 2.1 and 2.2

    // Null for other pages.
    const OpenPage* find(int64_t page) const {
        const auto found = stored.find(page);
        return found == stored.end() ? nullptr : found->second;
    }

    // Whether all pages with some of the rows are open, and of such a file. are_plain: as values without parts
    bool are_stored(const Ranges& rows, bool are_plain) const {
        const auto [first_row, end_row] = rows.bounds();
        if (first_row == end_row || end_row > reader.num_rows()) return false;
        const auto [first, end] = reader.pages_of(first_row, end_row);
        for (int64_t page = first; page < end; ++page) {
            const OpenPage* open = find(page);
            if (open == nullptr || open->form == PageForm::kNone) return false;
            if (are_plain && open->form != PageForm::kValues) return false;
        }
        return true;
    }
};

// Bytes of a column that were read from a file.
struct BoundParts {
    FileParts parts;
    std::shared_ptr<PooledBuffer> buffer;  // that the parts look into, with those of other columns
};

struct BoundColumnTest {
    explicit BoundColumnTest(Count num_pages) : tests(static_cast<size_t>(int64_t{num_pages})) {}
    BoundColumnTest(const BoundColumnTest&) = delete;
    BoundColumnTest& operator=(const BoundColumnTest&) = delete;

    std::vector<PageAnswer> tests;
    std::vector<nb::object> held;
};

}  // namespace lance
