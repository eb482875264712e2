// Source: data file 2.x, footer (40 bytes): u64 column metadata position, u64 column table position, u64 global buffer
// table position, u32 number of global buffers, u32 number of columns, u16 major, u16 minor, "LANC"; tables of u64
// position and u64 size.
#include "file/small_files.h"

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "file/columns.h"
#include "layouts/constant_reader.h"
#include "system/descriptor.h"

namespace lance {

void FlatPages::add(std::string encoding, Page page) {
    const std::unique_lock lock(mutex_);
    if (pages_.size() >= kMostPages) pages_.clear();
    pages_.insert_or_assign(std::move(encoding), std::move(page));
}

bool FlatPages::find(Bytes encoding, Page& page) const {
    const std::shared_lock lock(mutex_);
    const auto entry = pages_.find(std::string_view(reinterpret_cast<const char*>(encoding.data()), encoding.size()));
    if (entry == pages_.end()) return false;
    page = entry->second;
    return true;
}

namespace {

constexpr int64_t kFooterBytes = 40;
constexpr int64_t kEntryBytes = 16;

// The bytes of a small file; nothing for a file that is larger, is missing, or is not a plain file.
#ifdef _WIN32
std::optional<Bytes> read_whole(const std::string&, std::vector<uint8_t>&) { return std::nullopt; }
#else
std::optional<Bytes> read_whole(const std::string& path, std::vector<uint8_t>& scratch) {
    const Descriptor descriptor(path);
    const std::optional<int64_t> size = descriptor.file_size();
    if (!size || *size > kSmallFileBytes) return std::nullopt;
    scratch.resize(static_cast<size_t>(*size));
    size_t done = 0;
    while (done < scratch.size()) {
        const ssize_t count = read(descriptor, scratch.data() + done, scratch.size() - done);
        if (count <= 0) return std::nullopt;
        done += static_cast<size_t>(count);
    }
    return Bytes(scratch);
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
    int64_t num_rows() const { return num_rows_of_file(entry(global_buffers_, 0)); }
    StoredColumn column(int64_t index) const { return parse_column(entry(columns_, index), size()); }

    Bytes part(uint64_t position, uint64_t num_bytes) const {
        if (position > content_.size() || num_bytes > content_.size() - position) fail("outside of the file");
        return content_.subspan(position, num_bytes);
    }

  private:
    Bytes table(uint64_t position, uint64_t count) const {
        const Bytes entries = part(position, kEntryBytes * count);
        if (entries.data() + entries.size() > content_.data() + content_.size() - kFooterBytes) fail("in the footer");
        return entries;
    }

    Bytes entry(Bytes table, int64_t index) const {
        if (index < 0 || index >= size_of(table) / kEntryBytes) fail("no entry ", index);
        const uint8_t* at = table.data() + kEntryBytes * index;
        return part(load<uint64_t>(at), load<uint64_t>(at + 8));
    }

    Bytes content_;
    Bytes columns_;
    Bytes global_buffers_;
};

// The page of a column in memory, and what reads it.
struct OpenPage {
    std::unique_ptr<const ChunkTable> table;
    std::unique_ptr<const std::string> value;  // of a constant
    std::unique_ptr<const PageReader> reader;
    Bytes data;
};

// Appends all rows.
void append(const OpenPage& page, int64_t num_rows, ColumnBuilder& out) {
    const std::array<int64_t, 2> whole = {0, num_rows};
    const Ranges rows({reinterpret_cast<const uint8_t*>(whole.data()), sizeof(whole)}, num_rows);
    const PageBytes bytes{page.data, 0, std::nullopt};
    const int64_t before = out.num_rows();
    page.reader->require_bytes(bytes, num_rows);
    page.reader->read(bytes, rows, out);
    if (out.num_rows() - before != num_rows) fail(num_rows, " rows became ", out.num_rows() - before);
}

Bytes buffer(const WholeFile& file, const StoredPage& page, size_t number) {
    const auto start = static_cast<uint64_t>(page.buffers[2 * number]);
    return file.part(start, static_cast<uint64_t>(page.buffers[2 * number + 1]) - start);
}

OpenPage open_constant(const ConstantPage& page, const ColumnFormat& format, int64_t num_rows) {
    OpenPage open;
    std::optional<Bytes> value;
    if (page.value) {
        open.value = std::make_unique<const std::string>(*page.value);
        value = Bytes(reinterpret_cast<const uint8_t*>(open.value->data()), open.value->size());
    }
    open.reader = std::make_unique<const ConstantReader>(format, num_rows, value);
    return open;
}

OpenPage open_flat(const FlatPage& page, const ColumnFormat& format, Bytes words, Bytes data) {
    // wider numbers would be narrowed
    if (!format.variable && page.bits != format.bits) fail("values of ", page.bits, " bits as ", format.bits);
    OpenPage open;
    open.data = data;
    open.table = std::make_unique<const ChunkTable>(words, page.num_items, page.shape, size_of(data));
    const MiniBlockValues values{page.codec, page.bits, page.definition, {}, std::nullopt, format, false};
    open.reader = std::make_unique<const MiniBlockReader>(*open.table, values);
    return open;
}

// Nothing for a column that is not one page of a known encoding; encodings that nothing is known of are added to
// `unknown`.
std::optional<OpenPage> open_column(const FlatPages& pages, const WholeFile& file, int64_t index, int64_t num_rows,
                                    const ColumnFormat& format, std::unordered_set<std::string>& unknown) {
    const StoredColumn column = file.column(index);
    if (column.pages.size() != 1 || !column.pages[0].encoding) return std::nullopt;
    const StoredPage& stored = column.pages[0];
    FlatPages::Page page;
    if (!pages.find(*stored.encoding, page)) {
        unknown.emplace(reinterpret_cast<const char*>(stored.encoding->data()), stored.encoding->size());
        return std::nullopt;
    }
    if (stored.num_rows != num_rows) return std::nullopt;
    if (const auto* constant = std::get_if<ConstantPage>(&page)) {
        if (!stored.buffers.empty()) return std::nullopt;
        return open_constant(*constant, format, num_rows);
    }
    const auto* flat = std::get_if<FlatPage>(&page);
    if (!flat || flat->num_items != num_rows || stored.buffers.size() != 4) return std::nullopt;
    return open_flat(*flat, format, buffer(file, stored, 0), buffer(file, stored, 1));
}

// A file in memory with the pages of the columns that are wanted.
struct OpenFile {
    std::vector<uint8_t> content;
    int64_t num_rows;
    std::vector<OpenPage> pages;
};

// Nothing for a file that is left to the caller.
std::optional<OpenFile> open_file(const FlatPages& pages, const std::string& path, int64_t num_rows,
                                  const std::vector<ColumnFormat>& formats, const uint8_t* column_indices,
                                  std::unordered_set<std::string>& unknown) {
    OpenFile open{{}, num_rows, {}};
    const std::optional<Bytes> content = read_whole(path, open.content);
    if (!content) return std::nullopt;
    try {
        const WholeFile file(*content);
        if (file.num_rows() != num_rows) return std::nullopt;
        for (size_t i = 0; i < formats.size(); ++i) {
            const auto index = load<int64_t>(column_indices + 8 * i);
            std::optional<OpenPage> page = open_column(pages, file, index, num_rows, formats[i], unknown);
            if (!page) return std::nullopt;
            open.pages.push_back(std::move(*page));
        }
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
    return open;
}

// The columns of all files; none if a file cannot be decoded.
bool make_columns(std::vector<std::optional<OpenFile>>& files, const std::vector<ColumnFormat>& formats,
                  std::vector<ArrowArray>& columns) {
    int64_t num_rows = 0;
    for (const std::optional<OpenFile>& file : files) num_rows += file ? file->num_rows : 0;
    HeldArrays made(formats.size());
    for (size_t i = 0; i < formats.size(); ++i) {
        ColumnBuilder builder(formats[i], num_rows);
        for (std::optional<OpenFile>& file : files) {
            if (!file) continue;
            try {
                append(file->pages[i], file->num_rows, builder);
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

SmallFiles read_small_files(const FlatPages& pages, const std::vector<std::string>& paths, Bytes num_rows,
                            const std::vector<ColumnFormat>& formats, Bytes column_indices) {
    const size_t num_files = paths.size();
    require_input(num_rows, multiply(static_cast<int64_t>(num_files), 8), "num_rows");
    require_input(column_indices, multiply(static_cast<int64_t>(num_files * formats.size()), 8), "column_indices");
    int64_t most_rows = 0;
    for (size_t i = 0; i < num_files; ++i) {
        const auto count = load<int64_t>(num_rows.data() + 8 * i);
        if (count < 0 || count > kMaxCount - most_rows) fail("a file of ", count, " rows is not possible");
        most_rows += count;
    }
    SmallFiles result;
    std::vector<std::optional<OpenFile>> files;
    for (size_t i = 0; i < num_files; ++i) {
        files.push_back(open_file(pages, paths[i], load<int64_t>(num_rows.data() + 8 * i), formats,
                                  column_indices.data() + 8 * i * formats.size(), result.unknown));
    }
    while (!make_columns(files, formats, result.columns.arrays)) {
    }
    for (const std::optional<OpenFile>& file : files) result.read.push_back(file.has_value());
    return result;
}

ManyColumns read_many_columns(const FlatPages& pages, Bytes file, int64_t num_rows,
                              const std::vector<ColumnFormat>& formats, Bytes column_indices) {
    require_input(column_indices, multiply(static_cast<int64_t>(formats.size()), 8), "column_indices");
    ManyColumns result{{}, HeldArrays(formats.size())};
    try {
        const WholeFile whole(file);
        if (whole.num_rows() != num_rows) return result;
        for (size_t i = 0; i < formats.size(); ++i) {
            try {
                const auto index = load<int64_t>(column_indices.data() + 8 * i);
                const auto page = open_column(pages, whole, index, num_rows, formats[i], result.unknown);
                if (!page) continue;
                ColumnBuilder builder(formats[i], num_rows);
                append(*page, num_rows, builder);
                builder.finish(result.columns.arrays[i]);
            } catch (const std::invalid_argument&) {
                // Reading the single column reports the error.
            }
        }
    } catch (const std::invalid_argument&) {
        // So does opening the file.
    }
    return result;
}

}  // namespace lance
