// Looks up the bytes that readers of pages need, and makes the readers.
#include "file/column_opener.h"

#include <algorithm>

#include "layouts/compressed_chunks.h"
#include "layouts/constant_reader.h"
#include "layouts/full_zip_reader.h"

namespace lance {

namespace {

constexpr int64_t kEntryBytes = 16;

// Longer dictionaries are read where they are.
constexpr int64_t kMostCopied = 64 * 1024;

// Parts of a file this close are requested as one.
constexpr int64_t kMostBetween = 64;

// Estimated memory of a page, of a chunk and of a row in a page with an index of rows.
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kChunkBytes = 32;
constexpr int64_t kRowStartBytes = 8;

bool is_string(ValueCodec codec) { return codec == ValueCodec::kVariable || codec == ValueCodec::kFsst; }

// Whether values without a dictionary become the format; wider numbers would be narrowed.
bool fits(const ValueEncoding& values, const ColumnFormat& format) {
    if (values.list_size != format.list_size) return false;
    if (is_string(values.codec)) return format.variable;
    return !format.variable && values.bits == format.bits;
}

bool fits(const FlatPage& page, const ColumnFormat& format) {
    if (!page.dictionary) return fits(page.values, format);
    if (is_string(page.values.codec) || page.values.list_size != 0 || format.list_size != 0) return false;
    const int64_t bits = page.values.bits;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return false;
    return page.dictionary->variable ? format.variable : !format.variable && page.dictionary->bits == format.bits;
}

// Whether offsets ascend to at most num_bytes.
template <class T>
bool ascend(Bytes offsets, int64_t num_bytes) {
    T before = 0;
    bool is_fine = true;
    for (size_t i = 0; i < offsets.size(); i += sizeof(T)) {
        const T each = load<T>(offsets.data() + i);
        is_fine &= each >= before;
        before = each;
    }
    return is_fine && before <= static_cast<uint64_t>(num_bytes);
}

// The items of a block of byte strings: bits of an offset, start of the bytes, offsets, bytes. Nothing for a block of
// another form: that of early writers, or a damaged one.
std::optional<DictionaryItems> string_items(const DictionaryEncoding& encoding, Bytes block) {
    const int64_t width = encoding.bits / 8;
    if (size_of(block) < 2 * width) return std::nullopt;
    const auto word = [&](int64_t at) -> uint64_t {
        const uint8_t* from = block.data() + at * width;
        return width == 4 ? load<uint32_t>(from) : load<uint64_t>(from);
    };
    if (word(0) != static_cast<uint64_t>(encoding.bits) || word(1) > block.size()) return std::nullopt;
    const int64_t start = 2 * width;
    const int64_t end = start + (encoding.num_items + 1) * width;
    const auto data_start = static_cast<int64_t>(word(1));
    if (end > data_start) return std::nullopt;
    const Bytes offsets = block.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
    const Bytes data = block.subspan(static_cast<size_t>(data_start));
    const bool is_fine =
        width == 4 ? ascend<uint32_t>(offsets, size_of(data)) : ascend<uint64_t>(offsets, size_of(data));
    if (!is_fine) return std::nullopt;
    return DictionaryItems{encoding.num_items, encoding.bits, true, offsets, data};
}

std::optional<DictionaryItems> items_of(const DictionaryEncoding& encoding, Bytes block) {
    if (encoding.variable) return string_items(encoding, block);
    if (size_of(block) < multiply(encoding.num_items, encoding.bits / 8)) return std::nullopt;
    return DictionaryItems{encoding.num_items, encoding.bits, false, {}, block};
}

// Whether the values become the format, and have the width that the page says.
bool fits(const ZipPage& page, const ColumnFormat& format) {
    const ValueEncoding& values = page.values;
    if (!fits(values, format)) return false;
    if (!is_string(values.codec)) {
        const bool is_plain = values.codec == ValueCodec::kFlat && !values.compression && values.bits % 8 == 0;
        return is_plain && page.length_bytes == 0 && values.bits / 8 == page.value_bytes;
    }
    // FSST codes inside compressed values have no reader
    const bool is_readable = values.codec == ValueCodec::kVariable || !values.compression;
    return is_readable && page.length_bytes > 0 && values.bits == format.bits;
}

// The starts of rows, and the end of the last, widened to int64. Nothing for a damaged index.
std::optional<std::vector<int64_t>> row_starts(Bytes index, int64_t num_rows, int64_t page_bytes) {
    const int64_t count = num_rows + 1;
    const int64_t width = size_of(index) / count;
    if (size_of(index) != width * count || (width != 1 && width != 2 && width != 4 && width != 8)) return std::nullopt;
    std::vector<int64_t> starts;
    starts.reserve(static_cast<size_t>(count));
    uint64_t before = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint8_t* at = index.data() + i * width;
        const uint64_t start = width == 1   ? *at
                               : width == 2 ? load<uint16_t>(at)
                               : width == 4 ? load<uint32_t>(at)
                                            : load<uint64_t>(at);
        if (start < before || start > static_cast<uint64_t>(page_bytes)) return std::nullopt;
        starts.push_back(static_cast<int64_t>(start));
        before = start;
    }
    return starts;
}

Bytes own_copy(OpenPage& page, Bytes bytes) {
    page.own.assign(bytes.begin(), bytes.end());
    return page.own;
}

// Numbers and indices of these widths are tested as they are stored.
bool is_tested(const ValueEncoding& values) {
    const int64_t bits = values.bits;
    const bool has_width = bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
    return has_width && !is_string(values.codec) && values.list_size == 0;
}

TestedValues tested(const FlatPage& page, const std::optional<DictionaryItems>& items) {
    TestedValues values;
    if (is_tested(page.values)) values.bits = page.values.bits;
    values.are_strings = is_string(page.values.codec);
    values.has_nulls = page.definition.has_value();
    values.items = items;
    return values;
}

// A constant is its only item, and no item if all rows are NULL.
TestedValues tested(const ColumnFormat& format, const std::optional<Bytes>& value, bool has_nulls) {
    TestedValues values;
    values.bits = 8;
    values.has_nulls = has_nulls;
    DictionaryItems items{value ? 1 : 0, format.bits, format.variable, {}, {}};
    if (value) items.data = *value;
    values.items = items;
    return values;
}

// The value of an Arrow array of one element: the number of its buffers, their lengths, the buffers. Nothing for a
// damaged one, or one of another format.
std::optional<Bytes> value_of_scalar(Bytes scalar, const ColumnFormat& format) {
    if (size_of(scalar) < 4) return std::nullopt;
    const auto count = load<uint32_t>(scalar.data());
    const size_t header = 4 + 4 * size_t{count};
    if (count < 1 || count > 2 || scalar.size() < header) return std::nullopt;
    const size_t first_size = load<uint32_t>(scalar.data() + 4);
    const size_t second_size = count == 2 ? load<uint32_t>(scalar.data() + 8) : 0;
    if (scalar.size() - header != first_size + second_size) return std::nullopt;
    const Bytes first = scalar.subspan(header, first_size);
    if (count == 1) {
        const bool fits = format.variable || size_of(first) == bytes_for_bits(format.bits);
        return fits ? std::optional(first) : std::nullopt;
    }
    if (!format.variable || (first_size != 8 && first_size != 16)) return std::nullopt;
    const bool is_narrow = first_size == 8;
    const uint64_t start = is_narrow ? load<uint32_t>(first.data()) : load<uint64_t>(first.data());
    const uint64_t end = is_narrow ? load<uint32_t>(first.data() + 4) : load<uint64_t>(first.data() + 8);
    if (start > end || end > second_size) return std::nullopt;
    return scalar.subspan(header + first_size + static_cast<size_t>(start), static_cast<size_t>(end - start));
}

// A bit for each row, 1 for level 0. Nothing for damaged levels.
std::optional<std::vector<uint8_t>> bits_of_levels(Bytes levels, int64_t num_rows) {
    if (size_of(levels) != 2 * num_rows) return std::nullopt;
    std::vector<uint8_t> bits(static_cast<size_t>(bytes_for_bits(num_rows)));
    for (int64_t row = 0; row < num_rows; ++row) {
        const auto level = load<uint16_t>(levels.data() + 2 * row);
        if (level > 1) return std::nullopt;
        if (level == 0) bits[static_cast<size_t>(row / 8)] |= static_cast<uint8_t>(1U << (row % 8));
    }
    return bits;
}

// The decompressed block of a dictionary. Nothing for a block that claims to become very large.
std::optional<Bytes> block_of(const DictionaryEncoding& dictionary, Bytes stored, OpenPage& page) {
    if (dictionary.compression) {
        const int64_t size = decompressed_size(*dictionary.compression, stored);
        if (size > kTrustedBytes) return std::nullopt;
        page.own.resize(static_cast<size_t>(size));
        decompress(*dictionary.compression, stored, page.own);
        return page.own;
    }
    if (size_of(stored) <= kMostCopied) return own_copy(page, stored);
    page.refers_to_file = true;
    return stored;
}

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

std::optional<OpenColumn> ColumnOpener::open(int64_t index, const ColumnFormat& format, const Ranges& rows) {
    const auto [start, end] = table_.entry(index, file_.file_size());
    const std::optional<Bytes> metadata = need(start, end);
    return metadata ? open_pages(parse_column(*metadata, file_.file_size()), format, rows) : std::nullopt;
}

std::optional<OpenColumn> ColumnOpener::open_pages(const StoredColumn& stored, const ColumnFormat& format,
                                                   const Ranges& rows) {
    OpenColumn column;
    column.row_starts.push_back(0);
    for (const StoredPage& page : stored.pages) {
        column.row_starts.push_back(column.row_starts.back() + page.num_rows);
        if (column.row_starts.back() > num_rows_) return std::nullopt;
    }
    if (column.row_starts.back() != num_rows_) return std::nullopt;
    const size_t missing_before = missing_.size();
    int64_t range = 0;
    for (size_t i = 0; i < stored.pages.size(); ++i) {
        while (range < rows.size() && rows.end(range) <= column.row_starts[i]) ++range;
        if (range == rows.size()) break;
        if (rows.start(range) >= column.row_starts[i + 1]) continue;
        const size_t missing = missing_.size();
        std::optional<OpenPage> open = open_page(stored.pages[i], format);
        if (open) {
            open->number = static_cast<int64_t>(i);
            column.pages.push_back(std::move(*open));
        } else if (missing_.size() == missing) {
            // One page is left to the caller, so that the bytes of the others are of no use.
            missing_.resize(missing_before);
            return std::nullopt;
        }
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

std::optional<OpenPage> ColumnOpener::open_page(const StoredPage& page, const ColumnFormat& format) {
    if (!page.encoding) return std::nullopt;
    const PageEncoding encoding = parse_page_encoding(*page.encoding);
    if (const auto* flat = std::get_if<FlatPage>(&encoding)) return open_flat(*flat, page, format);
    if (const auto* zip = std::get_if<ZipPage>(&encoding)) return open_zip(*zip, page, format);
    if (const auto* constant = std::get_if<ConstantPage>(&encoding)) return open_constant(*constant, page, format);
    return std::nullopt;
}

std::optional<OpenPage> ColumnOpener::open_constant(const ConstantPage& constant, const StoredPage& page,
                                                    const ColumnFormat& format) {
    const std::vector<int64_t>& buffers = page.buffers;
    const size_t num_buffers = buffers.size() / 2;
    const bool is_stored = num_buffers == 1 || num_buffers == 3;
    const bool has_levels = num_buffers >= 2;
    const bool has_value = is_stored || constant.value;
    if (num_buffers > 3 || (is_stored && constant.value) || (has_levels && !has_value)) return std::nullopt;
    if ((has_levels || !has_value) && !constant.nullable) return std::nullopt;
    if (has_value && format.list_size != 0) return std::nullopt;
    const std::optional<Bytes> scalar = is_stored ? need(buffers[0], buffers[1]) : Bytes();
    const size_t at = is_stored ? 2 : 0;
    if (has_levels && buffers[at] != buffers[at + 1]) return std::nullopt;  // lists
    const std::optional<Bytes> levels = has_levels ? need(buffers[at + 2], buffers[at + 3]) : Bytes();
    if (!scalar || !levels) return std::nullopt;
    OpenPage open;
    std::optional<Bytes> value = constant.value;
    if (is_stored) value = value_of_scalar(*scalar, format);
    if (has_value && !value) return std::nullopt;
    if (value) value = own_copy(open, *value);
    std::optional<Bytes> validity;
    if (has_levels) {
        std::optional<std::vector<uint8_t>> bits = bits_of_levels(*levels, page.num_rows);
        if (!bits) return std::nullopt;
        open.validity = std::move(*bits);
        validity = open.validity;
    }
    open.reader = std::make_unique<const ConstantReader>(format, page.num_rows, value, validity);
    open.values = tested(format, value, has_levels);
    open.num_bytes = kPageBytes + size_of(Bytes(open.own)) + size_of(Bytes(open.validity));
    return open;
}

std::optional<OpenPage> ColumnOpener::open_flat(const FlatPage& flat, const StoredPage& page,
                                                const ColumnFormat& format) {
    const size_t num_buffers = flat.dictionary ? 3 : 2;
    if (page.buffers.size() != 2 * num_buffers || flat.num_items != page.num_rows || !fits(flat, format)) {
        return std::nullopt;
    }
    const std::optional<Bytes> words = need(page.buffers[0], page.buffers[1]);
    const std::optional<Bytes> block = flat.dictionary ? need(page.buffers[4], page.buffers[5]) : Bytes();
    if (!words || !block) return std::nullopt;
    OpenPage open;
    open.start = page.buffers[2];
    open.end = page.buffers[3];
    open.table = std::make_unique<const ChunkTable>(*words, flat.num_items, flat.shape, open.end - open.start);
    const ValueEncoding& values = flat.values;
    MiniBlockValues read{values.codec, values.bits, flat.definition, {}, std::nullopt, format, false};
    if (values.codec == ValueCodec::kFsst) read.symbol_table = own_copy(open, values.symbol_table);
    if (flat.dictionary) {
        const std::optional<Bytes> items = block_of(*flat.dictionary, *block, open);
        if (items) read.dictionary = items_of(*flat.dictionary, *items);
        if (!read.dictionary) return std::nullopt;
    }
    open.values = tested(flat, read.dictionary);
    std::unique_ptr<PageReader> reader = std::make_unique<MiniBlockReader>(*open.table, read);
    if (values.compression) {
        reader = std::make_unique<CompressedChunksReader>(*open.table, *values.compression, std::move(reader));
    }
    open.reader = std::move(reader);
    open.num_bytes = kPageBytes + kChunkBytes * (open.table->num_chunks() + 1) + size_of(Bytes(open.own));
    return open;
}

std::optional<OpenPage> ColumnOpener::open_zip(const ZipPage& zip, const StoredPage& page, const ColumnFormat& format) {
    const bool has_index = zip.length_bytes > 0;
    if (page.buffers.size() != (has_index ? 4 : 2) || !fits(zip, format)) return std::nullopt;
    const std::optional<Bytes> index = has_index ? need(page.buffers[2], page.buffers[3]) : Bytes();
    if (!index) return std::nullopt;
    OpenPage open;
    open.start = page.buffers[0];
    open.end = page.buffers[1];
    FullZipValues values{zip.bits_def, zip.num_levels, zip.value_bytes,       zip.length_bytes,
                         {},           format,         zip.values.compression};
    if (zip.values.codec == ValueCodec::kFsst) values.symbol_table = own_copy(open, zip.values.symbol_table);
    std::optional<std::vector<int64_t>> starts;
    if (has_index) {
        starts = row_starts(*index, page.num_rows, open.end - open.start);
        if (!starts) return std::nullopt;
    }
    open.reader = std::make_unique<const FullZipReader>(values, page.num_rows, std::move(starts));
    open.values.has_nulls = zip.num_levels > 0;
    const int64_t index_bytes = has_index ? kRowStartBytes * (page.num_rows + 1) : 0;
    open.num_bytes = kPageBytes + index_bytes + size_of(Bytes(open.own));
    return open;
}

}  // namespace lance
