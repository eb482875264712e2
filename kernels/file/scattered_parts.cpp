// Decides which bytes are read, and from which file.
#include "file/scattered_parts.h"

#include <algorithm>
#include <utility>

#include "file/batch_reader.h"
#include "file/file_extents.h"

namespace lance {

namespace {

// So many bytes of a page are copied in less time than a mapping of the file takes.
constexpr int64_t kFewBytes = 512 * 1024;
// More bytes are faster to read in the mapping.
constexpr int64_t kMostBytes = 64 * 1024 * 1024;

// The parts of one page among the spans of a column: those from `first` on, up to `end`.
struct PageSpans {
    size_t first;
    size_t end;

    bool is_scattered() const { return end - first > 1; }
};

// page, start and end of each part, by pages
class Spans {
  public:
    explicit Spans(std::vector<int64_t> spans) : spans_(std::move(spans)) {
        const size_t count = spans_.size() / 3;
        for (size_t i = 0; i < count; ++i) {
            if (pages_.empty() || page(i) != page(i - 1)) pages_.push_back({i, i});
            pages_.back().end = i + 1;
        }
    }

    const std::vector<PageSpans>& pages() const { return pages_; }
    size_t page(size_t i) const { return static_cast<size_t>(spans_[3 * i]); }
    int64_t start(size_t i) const { return spans_[3 * i + 1]; }
    int64_t end(size_t i) const { return spans_[3 * i + 2]; }

    bool has_scattered() const {
        return std::any_of(pages_.begin(), pages_.end(), [](const PageSpans& each) { return each.is_scattered(); });
    }
    bool is_read_in_parts() const {
        return std::all_of(pages_.begin(), pages_.end(), [this](const PageSpans& each) {
            return each.is_scattered() || end(each.first) - start(each.first) <= kFewBytes;
        });
    }
    // Start and end of each part of a page.
    std::vector<int64_t> pairs(const PageSpans& page) const {
        std::vector<int64_t> bounds;
        for (size_t i = page.first; i < page.end; ++i) bounds.insert(bounds.end(), {start(i), end(i)});
        return bounds;
    }
    int64_t num_bytes(const PageSpans& page) const {
        int64_t total = 0;
        for (size_t i = page.first; i < page.end; ++i) total += end(i) - start(i);
        return total;
    }
    // Maximum total of all pages.
    int64_t num_bytes() const {
        int64_t total = 0;
        for (const PageSpans& page : pages_) {
            total += num_bytes(page);
            if (total > kMostBytes) break;
        }
        return total;
    }

  private:
    std::vector<int64_t> spans_;
    std::vector<PageSpans> pages_;
};

Spans spans_of(const std::vector<WantedRows>& columns, size_t column) {
    const WantedRows& wanted = columns[column];
    try {
        return Spans(wanted.column->scattered_spans(wanted.rows));
    } catch (const std::invalid_argument& error) {
        throw PageFailure(false, column, 0, error.what());
    }
}

}  // namespace

std::optional<ScatteredParts> read_scattered(const std::string& path, const std::vector<WantedRows>& columns) {
    std::vector<Spans> spans;
    std::vector<bool> are_read;
    std::vector<int64_t> extents;
    int64_t left = kMostBytes;
    bool are_scattered = false;
    for (size_t i = 0; i < columns.size(); ++i) {
        const Spans& column_spans = spans.emplace_back(spans_of(columns, i));
        are_read.push_back(column_spans.is_read_in_parts() && column_spans.num_bytes() <= left);
        if (!are_read.back()) continue;
        left -= column_spans.num_bytes();
        are_scattered = are_scattered || column_spans.has_scattered();
        for (const PageSpans& page : column_spans.pages()) {
            const std::vector<int64_t> pairs = column_spans.pairs(page);
            extents.insert(extents.end(), pairs.begin(), pairs.end());
        }
    }
    if (!are_scattered) return std::nullopt;
    std::optional<PooledBuffer> read = read_extents(path, as_bytes(extents));
    if (!read) return std::nullopt;
    ScatteredParts made{std::move(*read), {}};
    const uint8_t* at = made.buffer.data();
    for (size_t i = 0; i < spans.size(); ++i) {
        const Spans& column_spans = spans[i];
        std::optional<FileParts>& parts = made.columns.emplace_back();
        if (!are_read[i]) continue;
        parts.emplace();
        for (const PageSpans& page : column_spans.pages()) {
            const int64_t num_bytes = column_spans.num_bytes(page);
            const Bytes bytes(at, static_cast<size_t>(num_bytes));
            const size_t number = column_spans.page(page.first);
            if (page.is_scattered()) {
                parts->push_back({number, bytes, 0, Extents(as_bytes(column_spans.pairs(page)), num_bytes)});
            } else {
                parts->push_back({number, bytes, column_spans.start(page.first), {}});
            }
            at += num_bytes;
        }
    }
    return made;
}

}  // namespace lance
