// Looks up the bytes that pages are opened with.
#include "file/column_opener.h"

#include <algorithm>

namespace lance {

namespace {

constexpr int64_t kEntryBytes = 16;

// Parts of a file this close are requested as one.
constexpr int64_t kMostBetween = 64;

}  // namespace

std::optional<Bytes> KnownBytes::find(int64_t start, int64_t end) const {
    if (start < 0 || start > end || end > file_size_) fail("bytes ", start, " to ", end, " of ", file_size_);
    const auto after = parts_.upper_bound(start);
    if (after == parts_.begin()) return std::nullopt;
    const auto& [part_start, data] = *std::prev(after);
    if (end > part_start + size_of(data)) return std::nullopt;
    return data.subspan(static_cast<size_t>(start - part_start), static_cast<size_t>(end - start));
}

std::pair<int64_t, int64_t> ColumnTable::entry(int64_t index, int64_t file_size) const {
    if (index < 0 || index >= size_of(entries_) / kEntryBytes) fail("no column ", index);
    const uint8_t* at = entries_.data() + kEntryBytes * index;
    const auto position = load<uint64_t>(at);
    const auto num_bytes = load<uint64_t>(at + 8);
    const auto size = static_cast<uint64_t>(file_size);
    if (position > size || num_bytes > size - position) fail("the metadata of column ", index, " is outside the file");
    return {static_cast<int64_t>(position), static_cast<int64_t>(position + num_bytes)};
}

std::optional<OpenColumn> ColumnOpener::open(int64_t index, const ColumnType& type, const Ranges& rows) {
    const size_t missing_before = missing_.size();
    try {
        const auto [start, end] = table_.entry(index, file_.file_size());
        const std::optional<Bytes> metadata = need(start, end);
        return metadata ? open_pages(parse_column(*metadata, file_.file_size()), type, rows) : std::nullopt;
    } catch (const InvalidData&) {
        // Opening the single page reports the error; the bytes of the others are of no use.
        missing_.resize(missing_before);
        return std::nullopt;
    }
}

std::optional<OpenColumn> ColumnOpener::open_pages(const StoredColumn& stored, const ColumnType& type,
                                                   const Ranges& rows) {
    const int64_t items_per_row = type.items_per_row();
    OpenColumn column;
    column.row_starts.push_back(0);
    for (const StoredPage& page : stored.pages) {
        if (items_per_row == 0 || page.num_rows % items_per_row != 0) fail("a page that ends inside a row");
        column.row_starts.push_back(column.row_starts.back() + page.num_rows / items_per_row);
        if (column.row_starts.back() > num_rows_) return std::nullopt;
    }
    if (column.row_starts.back() != num_rows_) return std::nullopt;
    const size_t missing_before = missing_.size();
    int64_t range = 0;
    for (size_t i = 0; i < stored.pages.size(); ++i) {
        while (range < rows.size() && rows.end(range) <= column.row_starts[i]) ++range;
        if (range == rows.size()) break;
        if (rows.start(range) >= column.row_starts[i + 1]) continue;
        std::optional<OpenPage> open = open_stored(stored.pages[i], type);
        if (!open) continue;
        if (open->form == PageForm::kNone) fail("page ", i, " has no values");
        open->number = static_cast<int64_t>(i);
        column.pages.push_back(std::move(*open));
    }
    if (missing_.size() > missing_before || column.pages.empty()) return std::nullopt;
    return column;
}

std::optional<Bytes> ColumnOpener::need(int64_t start, int64_t end) {
    const std::optional<Bytes> found = file_.find(start, end);
    if (!found) missing_.insert(missing_.end(), {start, end});
    return found;
}

std::vector<int64_t> ColumnOpener::missing() const {
    std::vector<std::pair<int64_t, int64_t>> parts;
    for (size_t i = 0; i < missing_.size(); i += 2) parts.emplace_back(missing_[i], missing_[i + 1]);
    std::ranges::sort(parts);
    std::vector<int64_t> joined;
    for (const auto& [start, end] : parts) {
        if (!joined.empty() && start <= joined.back() + kMostBetween) {
            joined.back() = std::max(joined.back(), end);
        } else {
            joined.insert(joined.end(), {start, end});
        }
    }
    return joined;
}

std::optional<OpenPage> ColumnOpener::open_stored(const StoredPage& page, const ColumnType& type) {
    if (!page.encoding) fail_unsupported("a page encoding that is not stored beside its page is not supported");
    const PageLayout layout = parse_page_layout(*page.encoding);
    PageSource source{page.num_rows, page.buffers, {}};
    const size_t missing_before = missing_.size();
    for (const size_t number : head_buffers(layout, page.buffers.size() / 2)) {
        const std::optional<Bytes> buffer = need(page.buffers[2 * number], page.buffers[2 * number + 1]);
        source.head.push_back(buffer.value_or(Bytes()));
    }
    if (missing_.size() > missing_before) return std::nullopt;
    return open_page(layout, source, type);
}

}  // namespace lance
