// Takes rows that are near each other from mappings, and reads those that are far apart.
#include "file/mapped_rows.h"

#include <deque>
#include <utility>

#include "file/batch_reader.h"
#include "file/scattered_parts.h"

namespace lance {

namespace {

// The bytes of the pages with rows of a column, and where they are.
FileParts mapped_parts(const ColumnReader& column, const Ranges& rows, Bytes content, std::vector<int64_t>& touched) {
    FileParts parts;
    const std::vector<int64_t> spans = column.spans(rows);
    for (size_t i = 0; i < spans.size(); i += 3) {
        const int64_t start = spans[i + 1];
        const int64_t end = spans[i + 2];
        if (start > end || end > size_of(content)) fail("bytes ", start, " to ", end, " of ", content.size());
        touched.insert(touched.end(), {start, end});
        const Bytes bytes = content.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
        parts.push_back({static_cast<size_t>(spans[i]), bytes, start, {}});
    }
    return parts;
}

}  // namespace

JoinedRows read_mapped(const std::vector<MappedRows>& files) {
    JoinedRows made;
    std::deque<ScatteredParts> scattered;
    std::deque<FileParts> held;
    std::vector<std::vector<ColumnRows>> columns(files.empty() ? 0 : files.front().columns.size());
    for (const MappedRows& file : files) {
        if (file.columns.size() != columns.size()) fail("files with other columns");
        ScatteredParts* apart = nullptr;
        // Neighboring rows need all bytes between them.
        if (file.path && file.rows.size() > 1) {
            std::vector<WantedRows> wanted;
            for (const ColumnReader* column : file.columns) wanted.push_back({column, file.rows});
            if (auto read = read_scattered(*file.path, wanted)) apart = &scattered.emplace_back(std::move(*read));
        }
        std::vector<int64_t>& touched = made.touched.emplace_back();
        for (size_t i = 0; i < columns.size(); ++i) {
            const FileParts* parts = apart != nullptr && apart->columns[i] ? &*apart->columns[i] : nullptr;
            if (parts == nullptr) {
                parts = &held.emplace_back(mapped_parts(*file.columns[i], file.rows, file.content, touched));
            }
            columns[i].push_back({file.columns[i], file.rows, parts});
        }
    }
    read_joined(columns, made.columns.arrays);
    return made;
}

}  // namespace lance
