// Finds the pages of rows, and the bytes of the file that they need.
#include "file/column_reader.h"

#include <algorithm>

namespace lance {

ColumnReader::ColumnReader(Bytes row_starts) {
    if (row_starts.size() % 8 != 0 || row_starts.size() < 16) fail("row starts of ", row_starts.size(), " bytes");
    for (size_t i = 0; i < row_starts.size(); i += 8) {
        const auto start = load<int64_t>(row_starts.data() + i);
        if (start < (row_starts_.empty() ? 0 : row_starts_.back()) || start > kMaxCount) fail("row starts descend");
        row_starts_.push_back(start);
    }
    if (row_starts_.front() != 0) fail("rows begin at ", row_starts_.front());
    pages_.resize(row_starts_.size() - 1);
}

void ColumnReader::open(int64_t page, const PageReader& reader, int64_t start, int64_t end) {
    if (page >= num_pages()) fail("page ", page, " is not among ", num_pages());
    const auto at = static_cast<size_t>(page);
    const int64_t count = row_starts_[at + 1] - row_starts_[at];
    if (reader.num_rows() < count) fail(reader.num_rows(), " items for ", count, " rows");
    if (start > end) fail("a page from byte ", start, " to ", end);
    pages_[at] = {&reader, start, end};
    lends_ = lends_ || reader.lends();
}

std::pair<int64_t, int64_t> ColumnReader::pages_of(int64_t first_row, int64_t end_row) const {
    if (first_row >= end_row || end_row > num_rows()) fail("rows ", first_row, " to ", end_row, " of ", num_rows());
    const auto first = std::upper_bound(row_starts_.begin(), row_starts_.end(), first_row) - 1;
    const auto end = std::lower_bound(first, row_starts_.end(), end_row);
    return {first - row_starts_.begin(), end - row_starts_.begin()};
}

std::vector<PageRows> ColumnReader::split(const Ranges& rows) const {
    std::vector<PageRows> parts;
    int64_t position = 0;
    int64_t page = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        int64_t row = rows.start(i);
        const int64_t end = rows.end(i);
        if (row == end) continue;
        if (parts.empty() || row >= row_starts_[static_cast<size_t>(page) + 1]) page = pages_of(row, end).first;
        while (row < end) {
            const auto at = static_cast<size_t>(page);
            const int64_t stop = std::min(end, row_starts_[at + 1]);
            if (stop > row) {
                if (parts.empty() || parts.back().page != at) {
                    if (pages_[at].reader == nullptr) fail("page ", page, " is not open");
                    parts.push_back({at, pages_[at].reader, {}, position});
                }
                parts.back().pairs.insert(parts.back().pairs.end(), {row - row_starts_[at], stop - row_starts_[at]});
                position += stop - row;
                row = stop;
            }
            if (row < end) ++page;
        }
    }
    return parts;
}

std::vector<int64_t> ColumnReader::spans(const Ranges& rows) const {
    std::vector<int64_t> page_spans;
    for (const PageRows& part : split(rows)) {
        const auto [start, end] = part.reader->bytes_of(part.rows());
        add_span(part, start, end, page_spans);
    }
    return page_spans;
}

std::vector<int64_t> ColumnReader::scattered_spans(const Ranges& rows) const {
    std::vector<int64_t> page_spans;
    for (const PageRows& part : split(rows)) {
        const std::vector<int64_t> scattered = part.reader->scattered_bytes_of(part.rows());
        for (size_t i = 0; i < scattered.size(); i += 2) add_span(part, scattered[i], scattered[i + 1], page_spans);
        if (!scattered.empty()) continue;
        const auto [start, end] = part.reader->bytes_of(part.rows());
        add_span(part, start, end, page_spans);
    }
    return page_spans;
}

void ColumnReader::add_span(const PageRows& part, int64_t start, int64_t end, std::vector<int64_t>& page_spans) const {
    const Page& page = pages_[part.page];
    if (start == end) return;
    if (end > page.end - page.start) fail("a page of ", page.end - page.start, " bytes, expected ", end);
    page_spans.insert(page_spans.end(), {static_cast<int64_t>(part.page), page.start + start, page.start + end});
}

PageBytes ColumnReader::bytes(size_t page, const FileParts& parts) const {
    const auto part = std::lower_bound(parts.begin(), parts.end(), page,
                                       [](const FilePart& each, size_t wanted) { return each.page < wanted; });
    if (part == parts.end() || part->page != page) return {{}, 0, std::nullopt};
    const Page& stored = pages_[page];
    if (!part->extents.empty()) {
        if (!stored.reader || !stored.reader->takes_extents()) fail("extents of a page that is read as a whole");
        return {part->data, stored.start, std::nullopt, &part->extents};
    }
    const int64_t first = std::max(stored.start, part->start);
    const int64_t last = std::min(stored.end, part->start + size_of(part->data));
    if (first >= last) return {{}, 0, std::nullopt};
    return {part->data.subspan(static_cast<size_t>(first - part->start), static_cast<size_t>(last - first)),
            first - stored.start, std::nullopt};
}

void ColumnReader::observe(const Ranges& rows, const FileParts& parts, ZoneObserver& out) const {
    for (const PageRows& part : split(rows)) {
        part.reader->observe(bytes(part.page, parts), part.rows(), row_starts_[part.page], out);
    }
}

}  // namespace lance
