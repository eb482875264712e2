// Source: data file 2.x, footer (40 bytes): u64 column metadata position, u64 column table position, u64 global buffer
// table position, u32 number of global buffers, u32 number of columns, u16 major, u16 minor, "LANC"; tables of u64
// position and u64 size.
#include "file/small_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "file/column_opener.h"
#include "file/columns.h"
#include "system/descriptor.h"

namespace lance {

namespace {

constexpr int64_t kFooterBytes = 40;
constexpr int64_t kEntryBytes = 16;
// Limit for the values of all files, as if each row had the longest one of those that it may share.
constexpr int64_t kMostSharedBytes = 32 * 1024 * 1024;

// The bytes of a file.
struct Content {
    std::unique_ptr<uint8_t[]> data;
    size_t size = 0;

    operator Bytes() const { return {data.get(), size}; }
};

// The bytes of a small file; nothing for a file that is larger, is missing, or is not a plain file.
#ifdef _WIN32
std::optional<Content> read_whole(const std::string&) { return std::nullopt; }
#else
std::optional<Content> read_whole(const std::string& path) {
    const Descriptor descriptor(path);
    const std::optional<int64_t> file_size = descriptor.file_size();
    if (!file_size || *file_size > kSmallFileBytes) return std::nullopt;
    const auto size = static_cast<size_t>(*file_size);
    Content content{std::make_unique_for_overwrite<uint8_t[]>(size), size};
    size_t done = 0;
    while (done < size) {
        const ssize_t count = read(descriptor, content.data.get() + done, size - done);
        if (count <= 0) return std::nullopt;
        done += static_cast<size_t>(count);
    }
    return content;
}
#endif

// A data file 2.1 or 2.2 in memory.
class WholeFile {
  public:
    explicit WholeFile(Bytes content) : content_(content) {
        require_input(content, kFooterBytes, "the footer");
        const uint8_t* footer = content.data() + content.size() - kFooterBytes;
        if (std::memcmp(footer + 36, "LANC", 4) != 0) fail("no data file");
        const auto major = load<uint16_t>(footer + 32);
        const auto minor = load<uint16_t>(footer + 34);
        if (major != 2 || (minor != 1 && minor != 2)) fail("data file version ", major, ".", minor);
        columns_ = table(load<uint64_t>(footer + 8), load<uint32_t>(footer + 28));
        global_buffers_ = table(load<uint64_t>(footer + 16), load<uint32_t>(footer + 24));
    }

    int64_t size() const { return size_of(content_); }
    int64_t num_rows() const { return num_rows_of_file(first_global_buffer()); }
    ColumnTable columns() const { return ColumnTable(columns_); }

  private:
    Bytes part(uint64_t position, uint64_t num_bytes) const {
        if (position > content_.size() || num_bytes > content_.size() - position) fail("outside of the file");
        return content_.subspan(position, num_bytes);
    }

    Bytes table(uint64_t position, uint64_t count) const {
        const Bytes entries = part(position, kEntryBytes * count);
        if (entries.data() + entries.size() > content_.data() + content_.size() - kFooterBytes) fail("in the footer");
        return entries;
    }

    Bytes first_global_buffer() const {
        require_input(global_buffers_, kEntryBytes, "the table of global buffers");
        return part(load<uint64_t>(global_buffers_.data()), load<uint64_t>(global_buffers_.data() + 8));
    }

    Bytes content_;
    Bytes columns_;
    Bytes global_buffers_;
};

// All rows of a file as ranges.
class WholeRange {
  public:
    explicit WholeRange(int64_t num_rows) : pair_{0, num_rows} {}
    Ranges ranges() const { return {{reinterpret_cast<const uint8_t*>(pair_.data()), sizeof(pair_)}, pair_[1]}; }

  private:
    std::array<int64_t, 2> pair_;
};

// Appends all rows of a column.
void append(const OpenColumn& column, Bytes content, ColumnBuilder& out) {
    for (const OpenPage& page : column.pages) {
        const auto i = static_cast<size_t>(page.number);
        const int64_t num_rows = column.row_starts[i + 1] - column.row_starts[i];
        const WholeRange rows(num_rows);
        const Bytes data = content.subspan(static_cast<size_t>(page.start), static_cast<size_t>(page.end - page.start));
        const PageBytes bytes{data, 0, std::nullopt};
        const int64_t before = out.num_rows();
        page.reader->require_bytes(bytes, num_rows);
        page.reader->read(bytes, rows.ranges(), out);
        if (out.num_rows() - before != num_rows) fail(num_rows, " rows became ", out.num_rows() - before);
    }
}

bool are_values(const OpenPage& page) { return page.form == PageForm::kValues; }

// The longest value that rows of a page may share: an item of a dictionary, or a constant.
int64_t longest_shared(const OpenPage& page) {
    if (!page.values || !page.values->items) return 0;
    const Block& items = *page.values->items;
    if (items.num_values == 0) return 0;
    if (items.offsets.empty()) return size_of(items.data) / items.num_values;
    const int64_t width = items.bits / 8;
    const auto end = [&](int64_t i) {
        const uint8_t* at = items.offsets.data() + width * i;
        return width == 4 ? load<uint32_t>(at) : load<uint64_t>(at);
    };
    uint64_t longest = 0;
    for (int64_t i = 0; i < items.num_values; ++i) longest = std::max<uint64_t>(longest, end(i + 1) - end(i));
    return static_cast<int64_t>(std::min<uint64_t>(longest, kMostSharedBytes));
}

// The bytes of the values that the rows of a column share, if each row has the longest.
int64_t shared_bytes(const OpenColumn& column) {
    int64_t total = 0;
    for (const OpenPage& page : column.pages) {
        const auto i = static_cast<size_t>(page.number);
        total += multiply(longest_shared(page), column.row_starts[i + 1] - column.row_starts[i]);
    }
    return total;
}

// A file in memory with the columns that are wanted.
struct OpenFile {
    Content content;
    int64_t num_rows;
    std::vector<OpenColumn> columns;
    int64_t shared_bytes = 0;
};

// Nothing for a file that is left to the caller. most_shared: limit for `shared_bytes`
std::optional<OpenFile> open_file(const std::string& path, int64_t num_rows, const std::vector<ColumnType>& types,
                                  const uint8_t* column_indices, int64_t most_shared) {
    std::optional<Content> content = read_whole(path);
    if (!content) return std::nullopt;
    OpenFile open{std::move(*content), num_rows, {}};
    try {
        const WholeFile file(open.content);
        if (file.num_rows() != num_rows) return std::nullopt;
        KnownBytes known(file.size());
        known.add(0, open.content);
        // The content is kept as long as the columns, which may look into it.
        ColumnOpener opener(known, file.columns(), num_rows);
        const WholeRange rows(num_rows);
        for (size_t i = 0; i < types.size(); ++i) {
            std::optional<OpenColumn> column =
                opener.open(load<int64_t>(column_indices + 8 * i), types[i], rows.ranges());
            if (!column || !std::ranges::all_of(column->pages, are_values)) return std::nullopt;
            open.shared_bytes += shared_bytes(*column);
            if (open.shared_bytes > most_shared) return std::nullopt;
            open.columns.push_back(std::move(*column));
        }
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
    return open;
}

// The columns of all files; none if a file cannot be decoded.
bool make_columns(std::vector<std::optional<OpenFile>>& files, const std::vector<ColumnType>& types,
                  std::vector<ArrowArray>& columns) {
    int64_t num_rows = 0;
    for (const std::optional<OpenFile>& file : files) num_rows += file ? file->num_rows : 0;
    HeldArrays made(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
        ColumnBuilder builder(*plain_format(types[i].shape), num_rows);
        for (std::optional<OpenFile>& file : files) {
            if (!file) continue;
            try {
                append(file->columns[i], file->content, builder);
            } catch (const std::invalid_argument&) {
                file.reset();
                return false;
            }
        }
        builder.finish(made.arrays[i]);
    }
    columns = std::exchange(made.arrays, {});
    return true;
}

}  // namespace

SmallFiles read_small_files(const std::vector<std::string>& paths, Bytes num_rows, const std::vector<ColumnType>& types,
                            Bytes column_indices) {
    const size_t num_files = paths.size();
    for (const ColumnType& each : types) {
        if (!each.has_plain_values()) fail("values of ", each.leaf_name, " with parts");
    }
    require_input(num_rows, multiply(static_cast<int64_t>(num_files), 8), "num_rows");
    require_input(column_indices, multiply(static_cast<int64_t>(num_files * types.size()), 8), "column_indices");
    int64_t most_rows = 0;
    for (size_t i = 0; i < num_files; ++i) {
        const auto count = load<int64_t>(num_rows.data() + 8 * i);
        if (count < 0 || count > kMaxCount - most_rows) fail("a file of ", count, " rows is not possible");
        most_rows += count;
    }
    SmallFiles result;
    std::vector<std::optional<OpenFile>> files;
    int64_t most_shared = kMostSharedBytes;
    for (size_t i = 0; i < num_files; ++i) {
        files.push_back(open_file(paths[i], load<int64_t>(num_rows.data() + 8 * i), types,
                                  column_indices.data() + 8 * i * types.size(), most_shared));
        if (files.back()) most_shared -= files.back()->shared_bytes;
    }
    while (!make_columns(files, types, result.columns.arrays)) {
    }
    for (const std::optional<OpenFile>& file : files) result.read.push_back(file.has_value());
    return result;
}

}  // namespace lance
