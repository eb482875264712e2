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
// The end of a file is read first: a whole file of this size.
constexpr int64_t kTailBytes = 64 * 1024;
// Parts of a file this close are read as one.
constexpr int64_t kMostBetween = 16 * 1024;
// Limit for the values of all files, as if each row had the longest one of those that it may share.
constexpr int64_t kMostSharedBytes = 32 * 1024 * 1024;

#ifdef _WIN32
bool read_at(const Descriptor&, int64_t, MutableBytes) { return false; }
#else
// Fills `out` with the bytes from `start` on.
bool read_at(const Descriptor& descriptor, int64_t start, MutableBytes out) {
    while (!out.empty()) {
        const ssize_t count = pread(descriptor, out.data(), out.size(), start);
        if (count <= 0) return false;
        start += count;
        out = out.subspan(static_cast<size_t>(count));
    }
    return true;
}
#endif

// A data file 2.1 or 2.2, of which parts are read into memory: its end, and the pages that are asked for.
class SmallFile {
  public:
    explicit SmallFile(const std::string& path) : descriptor_(path) {
        const std::optional<int64_t> size = descriptor_.file_size();
        if (!size || *size > kSmallFileBytes) fail("no small file");
        size_ = *size;
        content_ = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(size_));
        begin_ = size_;
        read_from(std::max<int64_t>(0, size_ - kTailBytes));
        if (size_ < kFooterBytes) fail("a file of ", size_, " bytes");
        const uint8_t* footer = content_.get() + size_ - kFooterBytes;
        if (std::memcmp(footer + 36, "LANC", 4) != 0) fail("no data file");
        const auto major = load<uint16_t>(footer + 32);
        const auto minor = load<uint16_t>(footer + 34);
        if (major != 2 || (minor != 1 && minor != 2)) fail("data file version ", major, ".", minor);
        columns_ = table(load<uint64_t>(footer + 8), load<uint32_t>(footer + 28));
        global_buffers_ = table(load<uint64_t>(footer + 16), load<uint32_t>(footer + 24));
    }

    ColumnTable columns() const { return ColumnTable(columns_); }

    int64_t num_rows() {
        require_input(global_buffers_, kEntryBytes, "the table of global buffers");
        return num_rows_of_file(
            part(load<uint64_t>(global_buffers_.data()), load<uint64_t>(global_buffers_.data() + 8)));
    }

    // Reads all pages of some columns.
    KnownBytes read_pages(const uint8_t* column_indices, size_t num_columns) {
        std::vector<std::pair<int64_t, int64_t>> ranges;
        for (size_t i = 0; i < num_columns; ++i) {
            const auto [start, end] = columns().entry(load<int64_t>(column_indices + 8 * i), size_);
            const Bytes metadata = part(static_cast<uint64_t>(start), static_cast<uint64_t>(end - start));
            for (const StoredPage& page : parse_column(metadata, size_).pages) {
                for (size_t k = 0; k < page.buffers.size(); k += 2) {
                    const int64_t page_end = std::min(page.buffers[k + 1], begin_);
                    if (page.buffers[k] < page_end) ranges.emplace_back(page.buffers[k], page_end);
                }
            }
        }
        std::ranges::sort(ranges);
        std::vector<std::pair<int64_t, int64_t>> joined;
        for (const auto& [start, end] : ranges) {
            if (!joined.empty() && start <= joined.back().second + kMostBetween) {
                joined.back().second = std::max(joined.back().second, end);
            } else {
                joined.emplace_back(start, end);
            }
        }
        if (!joined.empty() && joined.back().second + kMostBetween >= begin_) {
            read_from(joined.back().first);
            joined.pop_back();
        }
        KnownBytes known(size_);
        known.add(begin_, bytes(begin_, size_));
        for (const auto& [start, end] : joined) known.add(start, read(start, end));
        return known;
    }

    // The whole file, of which only the parts that were read have values.
    std::unique_ptr<uint8_t[]> content() && { return std::move(content_); }

  private:
    Bytes bytes(int64_t start, int64_t end) const { return {content_.get() + start, static_cast<size_t>(end - start)}; }

    Bytes read(int64_t start, int64_t end) {
        if (!read_at(descriptor_, start, {content_.get() + start, static_cast<size_t>(end - start)})) {
            fail("a file that ends before byte ", end);
        }
        return bytes(start, end);
    }

    // Reads the bytes between `start` and those at the end that were read.
    void read_from(int64_t start) {
        if (start >= begin_) return;
        read(start, begin_);
        begin_ = start;
    }

    Bytes part(uint64_t position, uint64_t num_bytes) {
        const auto size = static_cast<uint64_t>(size_);
        if (position > size || num_bytes > size - position) fail("outside of the file");
        read_from(static_cast<int64_t>(position));
        return bytes(static_cast<int64_t>(position), static_cast<int64_t>(position + num_bytes));
    }

    Bytes table(uint64_t position, uint64_t count) {
        const Bytes entries = part(position, kEntryBytes * count);
        if (entries.data() + entries.size() > content_.get() + size_ - kFooterBytes) fail("in the footer");
        return entries;
    }

    Descriptor descriptor_;
    int64_t size_ = 0;
    int64_t begin_ = 0;  // of the end of the file that was read
    std::unique_ptr<uint8_t[]> content_;
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
void append(const OpenColumn& column, const uint8_t* content, ColumnBuilder& out) {
    for (const OpenPage& page : column.pages) {
        const auto i = static_cast<size_t>(page.number);
        const int64_t num_rows = column.row_starts[i + 1] - column.row_starts[i];
        const WholeRange rows(num_rows);
        const Bytes data(content + page.start, static_cast<size_t>(page.end - page.start));
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
    std::unique_ptr<uint8_t[]> content;
    int64_t num_rows;
    std::vector<OpenColumn> columns;
    int64_t shared_bytes = 0;
};

// Nothing for a file that is left to the caller. most_shared: limit for `shared_bytes`
std::optional<OpenFile> open_file(const std::string& path, int64_t num_rows, const std::vector<ColumnType>& types,
                                  const uint8_t* column_indices, int64_t most_shared) {
    OpenFile open{nullptr, num_rows, {}};
    try {
        SmallFile file(path);
        if (file.num_rows() != num_rows) return std::nullopt;
        const KnownBytes known = file.read_pages(column_indices, types.size());
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
        open.content = std::move(file).content();
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
                append(file->columns[i], file->content.get(), builder);
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
