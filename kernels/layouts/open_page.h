// Opening of a page: from its layout, its head and the type of its column to the reader of its values.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layouts/blocks.h"
#include "layouts/column_type.h"
#include "layouts/page_reader.h"

namespace lance {

// What the arrays of a reader are.
enum class PageForm : int {
    kNone = 0,     // there are no arrays: at most, tests for NULL
    kValues = 1,   // values of the type; of its items, for a type of indices whose page has no dictionary
    kParts = 2,    // the same, put together of their parts
    kIndices = 3,  // indices to the items of the page
};

// Why the values of a page cannot be read.
struct Refusal {
    std::string message;
    bool is_unsupported;
};

// What a test of a filter needs to know of the values of a page.
struct TestedValues {
    int64_t bits = 0;            // of numbers that are tested as they are stored, or of indices to items; otherwise 0
    bool are_strings = false;    // byte strings that are tested as they are stored
    bool has_nulls = false;      // whether some may be NULL
    std::optional<Block> items;  // of a dictionary, or the one value of a constant page
};

// A page, and what its reader looks into.
struct OpenPage {
    int64_t number = 0;
    std::unique_ptr<const ChunkTable> table;
    OwnBytes own;
    std::vector<std::unique_ptr<const PageReader>> inside;  // readers that others look into
    std::unique_ptr<const PageReader> reader;  // null: the values are read elsewhere, such as those of blobs
    PageForm form = PageForm::kNone;
    std::optional<Refusal> refusal;
    std::optional<TestedValues> values;  // nothing: no test can be answered
    int64_t start = 0;                   // its bytes in the file
    int64_t end = 0;
    int64_t num_bytes = 0;        // approximate memory
    bool refers_to_head = false;  // whether the reader looks into the bytes of the head
};

// A page in a file.
struct PageSource {
    int64_t num_rows;
    std::span<const int64_t> buffers;  // start and end of each
    std::vector<Bytes> head;           // the contents of the `head_buffers`
};

// Throws InvalidData for a damaged page, and Unsupported.
OpenPage open_page(const PageLayout& layout, const PageSource& source, const ColumnType& type);

}  // namespace lance
