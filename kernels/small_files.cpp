// Source: data file 2.x, footer (40 bytes): u64 column metadata position, u64 column table position, u64 global buffer
// table position, u32 number of global buffers, u32 number of columns, u16 major, u16 minor, "LANC"; tables of u64
// position and u64 size.
#include "small_files.h"

#include <array>
#include <mutex>

#include "bits.h"
#include "columns.h"
#include "descriptor.h"
#include "kernels.h"

namespace lance {

void FlatPages::add(std::string encoding, Page page) {
    const std::unique_lock lock(mutex_);
    if (pages_.size() >= kMostPages) pages_.clear();
    pages_.insert_or_assign(std::move(encoding), std::move(page));
}

bool FlatPages::find(Bytes encoding, Page& page) const {
    const std::shared_lock lock(mutex_);
    const auto found = pages_.find(std::string_view(reinterpret_cast<const char*>(encoding.data()), encoding.size()));
    if (found == pages_.end()) return false;
    page = found->second;
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
        const Bytes found = part(position, kEntryBytes * count);
        if (found.data() + found.size() > content_.data() + content_.size() - kFooterBytes) fail("in the footer");
        return found;
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

void decode(const FlatPage& page, Bytes words, Bytes data, DecodedPage& out) {
    const ChunkTable table(words, page.num_items, page.shape, size_of(data));
    const Chunks chunks(table, data, 0);
    const std::array<int64_t, 2> whole = {0, page.num_items};
    const Ranges ranges({reinterpret_cast<const uint8_t*>(whole.data()), sizeof(whole)}, page.num_items);
    out.offsets.clear();
    switch (page.codec) {
        case ValueCodec::kFlat:
            out.values.resize(static_cast<size_t>(bytes_for_bits(multiply(page.num_items, page.bits))));
            flat(chunks, ranges, 0, page.bits, out.values);
            break;
        case ValueCodec::kInlineBitpacking:
            out.values.resize(static_cast<size_t>(multiply(page.num_items, page.bits) / 8));
            inline_bitpacking(chunks, ranges, page.bits, out.values);
            break;
        case ValueCodec::kVariable:
            out.offsets.resize(static_cast<size_t>(multiply(page.num_items + 1, page.bits) / 8));
            out.values.resize(static_cast<size_t>(
                variable_offsets(chunks, ranges, page.bits, out.offsets, page.bits)));
            variable_bytes(chunks, ranges, page.bits, out.values);
            break;
        case ValueCodec::kByteStreamSplit:
        case ValueCodec::kRle:
        case ValueCodec::kFsst:
        case ValueCodec::kOther: fail("values of codec ", static_cast<int>(page.codec), " in a small file");
    }
    out.validity.clear();
    out.num_valid = page.num_items;
    if (!page.definition) return;
    out.validity.resize(static_cast<size_t>(bytes_for_bits(page.num_items)));
    out.num_valid = validity(chunks, ranges, *page.definition, 0, out.validity);
}

// False for a value that is not of the format.
bool repeat(const ConstantPage& page, const ValueFormat& format, int64_t num_rows, DecodedPage& out) {
    const std::string value = page.value.value_or(std::string());
    const auto size = static_cast<int64_t>(value.size());
    out.offsets.clear();
    out.values.clear();
    out.validity.clear();
    out.num_valid = num_rows;
    if (!page.value) {
        out.validity.assign(static_cast<size_t>(bytes_for_bits(num_rows)), 0);
        out.num_valid = 0;
    }
    if (format.variable) {
        if (format.bits == 32 && multiply(num_rows, size) > INT32_MAX) return false;
        out.offsets.resize(static_cast<size_t>(multiply(num_rows + 1, format.bits) / 8));
        for (int64_t i = 0; i <= num_rows; ++i) {
            uint8_t* to = out.offsets.data() + i * (format.bits / 8);
            format.bits == 32 ? store(to, static_cast<uint32_t>(i * size)) : store(to, static_cast<uint64_t>(i * size));
        }
    } else if (!page.value || format.bits == 1) {
        if (page.value && size != 1) return false;
        const bool set = page.value && (value[0] & 1) != 0;
        const int64_t num_bytes = bytes_for_bits(multiply(num_rows, format.bits));
        out.values.assign(static_cast<size_t>(num_bytes), set ? uint8_t{0xFF} : uint8_t{0});
        return true;
    } else if (size * 8 != format.bits) {
        return false;
    }
    out.values.resize(static_cast<size_t>(multiply(num_rows, size)));
    for (int64_t i = 0; i < num_rows; ++i) copy(out.values.data() + i * size, reinterpret_cast<const uint8_t*>(value.data()), size);
    return true;
}

Bytes buffer(const WholeFile& file, const StoredPage& page, size_t number) {
    const auto start = static_cast<uint64_t>(page.buffers[2 * number]);
    return file.part(start, static_cast<uint64_t>(page.buffers[2 * number + 1]) - start);
}

// False for a column that is not one page of a known encoding; encodings that nothing is known of are added to `unknown`.
bool decode_column(const FlatPages& pages, const WholeFile& file, int64_t index, int64_t num_rows,
                   const ValueFormat& format, DecodedPage& out, std::unordered_set<std::string>& unknown) {
    const StoredColumn column = file.column(index);
    if (column.pages.size() != 1 || !column.pages[0].encoding) return false;
    const StoredPage& stored = column.pages[0];
    FlatPages::Page page;
    if (!pages.find(*stored.encoding, page)) {
        unknown.emplace(reinterpret_cast<const char*>(stored.encoding->data()), stored.encoding->size());
        return false;
    }
    if (stored.num_rows != num_rows) return false;
    if (const auto* constant = std::get_if<ConstantPage>(&page)) {
        return stored.buffers.empty() && repeat(*constant, format, num_rows, out);
    }
    const auto* flat = std::get_if<FlatPage>(&page);
    if (!flat || flat->format() != format || flat->num_items != num_rows || stored.buffers.size() != 4) return false;
    decode(*flat, buffer(file, stored, 0), buffer(file, stored, 1), out);
    return true;
}

// A column that grows by one page after the other.
class ColumnWriter {
  public:
    ColumnWriter(ValueFormat format, int64_t most_rows) : format_(format), num_rows_(0) {
        out_.validity.resize(static_cast<size_t>(bytes_for_bits(most_rows)));
        if (format.variable) {
            out_.offsets.resize(static_cast<size_t>(multiply(most_rows + 1, format.bits) / 8));
        } else {
            out_.values.resize(static_cast<size_t>(bytes_for_bits(multiply(most_rows, format.bits))));
        }
    }

    // Whether the offsets still count to what another page adds.
    bool has_room(const DecodedPage& page) const {
        const int64_t most = format_.bits == 32 ? int64_t{INT32_MAX} : kMaxCount;
        return !format_.variable || size_of(Bytes(page.values)) <= most - size_of(Bytes(out_.values));
    }

    void append(const DecodedPage& page, int64_t num_rows) {
        append_bits(out_.validity, page.validity, num_rows);
        if (!format_.variable) {
            append_values(page, num_rows);
        } else if (format_.bits == 32) {
            append_strings<uint32_t>(page, num_rows);
        } else {
            append_strings<uint64_t>(page, num_rows);
        }
        out_.num_valid += page.num_valid;
        num_rows_ += num_rows;
    }

    SmallColumn take() { return std::move(out_); }

  private:
    // An empty bitmap stands for ones.
    void append_bits(std::vector<uint8_t>& to, Bytes bits, int64_t num_bits) const {
        for (int64_t i = 0; i < num_bits; ++i) {
            const bool set = bits.empty() || (bits[static_cast<size_t>(i / 8)] >> (i % 8) & 1) != 0;
            const int64_t at = num_rows_ + i;
            to[static_cast<size_t>(at / 8)] |= static_cast<uint8_t>(uint8_t{set} << (at % 8));
        }
    }

    void append_values(const DecodedPage& page, int64_t num_rows) {
        if (format_.bits % 8 != 0) {
            append_bits(out_.values, page.values, num_rows);
            return;
        }
        copy(out_.values.data() + num_rows_ * (format_.bits / 8), page.values.data(), num_rows * (format_.bits / 8));
    }

    template <class Offset>
    void append_strings(const DecodedPage& page, int64_t num_rows) {
        constexpr int64_t width = sizeof(Offset);
        const auto before = static_cast<Offset>(out_.values.size());
        uint8_t* to = out_.offsets.data() + (num_rows_ + 1) * width;
        for (int64_t i = 1; i <= num_rows; ++i, to += width) {
            store(to, static_cast<Offset>(before + load<Offset>(page.offsets.data() + i * width)));
        }
        out_.values.insert(out_.values.end(), page.values.begin(), page.values.end());
    }

    ValueFormat format_;
    int64_t num_rows_;
    SmallColumn out_;
};

class SmallFileReader {
  public:
    SmallFileReader(const FlatPages& pages, const std::vector<ValueFormat>& formats, int64_t most_rows)
        : pages_(pages), formats_(formats), decoded_(formats.size()) {
        for (const ValueFormat& format : formats) writers_.emplace_back(format, most_rows);
    }

    // Appends the columns of a file; false, and nothing appended, where it is left to the caller.
    bool read(const std::string& path, int64_t num_rows, const uint8_t* column_indices) {
        const std::optional<Bytes> content = read_whole(path, scratch_);
        if (!content) return false;
        try {
            const WholeFile file(*content);
            if (file.num_rows() != num_rows) return false;
            for (size_t i = 0; i < formats_.size(); ++i) {
                const auto index = load<int64_t>(column_indices + 8 * i);
                if (!decode_column(pages_, file, index, num_rows, formats_[i], decoded_[i], unknown_)) return false;
            }
        } catch (const std::invalid_argument&) {
            return false;
        }
        for (size_t i = 0; i < formats_.size(); ++i) {
            if (!writers_[i].has_room(decoded_[i])) return false;
        }
        for (size_t i = 0; i < formats_.size(); ++i) writers_[i].append(decoded_[i], num_rows);
        return true;
    }

    std::unordered_set<std::string>& unknown() { return unknown_; }
    std::vector<ColumnWriter>& writers() { return writers_; }

  private:
    const FlatPages& pages_;
    const std::vector<ValueFormat>& formats_;
    std::vector<DecodedPage> decoded_;
    std::vector<ColumnWriter> writers_;
    std::vector<uint8_t> scratch_;
    std::unordered_set<std::string> unknown_;
};

}  // namespace

SmallFiles read_small_files(const FlatPages& pages, const std::vector<std::string>& paths, Bytes num_rows,
                            const std::vector<ValueFormat>& formats, Bytes column_indices) {
    const size_t num_files = paths.size();
    require_input(num_rows, multiply(static_cast<int64_t>(num_files), 8), "num_rows");
    require_input(column_indices, multiply(static_cast<int64_t>(num_files * formats.size()), 8), "column_indices");
    int64_t most_rows = 0;
    for (size_t i = 0; i < num_files; ++i) {
        const auto count = load<int64_t>(num_rows.data() + 8 * i);
        if (count < 0 || count > kMaxCount - most_rows) fail("a file of ", count, " rows is not possible");
        most_rows += count;
    }
    SmallFileReader reader(pages, formats, most_rows);
    SmallFiles found;
    for (size_t i = 0; i < num_files; ++i) {
        found.read.push_back(reader.read(paths[i], load<int64_t>(num_rows.data() + 8 * i),
                                         column_indices.data() + 8 * i * formats.size()));
    }
    found.unknown = std::move(reader.unknown());
    for (ColumnWriter& writer : reader.writers()) found.columns.push_back(writer.take());
    return found;
}

ManyColumns read_many_columns(const FlatPages& pages, Bytes file, int64_t num_rows,
                              const std::vector<ValueFormat>& formats, Bytes column_indices) {
    require_input(column_indices, multiply(static_cast<int64_t>(formats.size()), 8), "column_indices");
    ManyColumns found;
    found.columns.resize(formats.size());
    try {
        const WholeFile whole(file);
        if (whole.num_rows() != num_rows) return found;
        for (size_t i = 0; i < formats.size(); ++i) {
            try {
                DecodedPage decoded;
                const auto index = load<int64_t>(column_indices.data() + 8 * i);
                if (decode_column(pages, whole, index, num_rows, formats[i], decoded, found.unknown)) {
                    found.columns[i] = std::move(decoded);
                }
            } catch (const std::invalid_argument&) {
                // Reading the column by itself says what is wrong.
            }
        }
    } catch (const std::invalid_argument&) {
        // So does opening the file.
    }
    return found;
}

}  // namespace lance
