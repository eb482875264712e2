// Full-zip pages. Buffers: entries, then an index of rows unless every entry has the same size.
#include "layouts/composite_reader.h"
#include "layouts/full_zip_reader.h"
#include "layouts/page_opening.h"
#include "layouts/zip_levels.h"

namespace lance {

namespace {

constexpr int64_t kRowStartBytes = 8;

// The starts of rows, and the end of the last.
std::vector<int64_t> row_starts(Bytes index, int64_t num_rows, int64_t page_bytes) {
    const int64_t count = num_rows + 1;
    const int64_t width = size_of(index) / count;
    if (size_of(index) != width * count || (width != 1 && width != 2 && width != 4 && width != 8)) {
        fail("a repetition index of ", index.size(), " bytes for ", num_rows, " rows");
    }
    std::vector<int64_t> starts;
    starts.reserve(static_cast<size_t>(count));
    uint64_t before = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint8_t* at = index.data() + i * width;
        const uint64_t start = width == 1   ? *at
                               : width == 2 ? load<uint16_t>(at)
                               : width == 4 ? load<uint32_t>(at)
                                            : load<uint64_t>(at);
        if (start < before || start > static_cast<uint64_t>(page_bytes)) {
            fail("a repetition index that descends or leaves the page");
        }
        starts.push_back(static_cast<int64_t>(start));
        before = start;
    }
    return starts;
}

class FullZipOpener {
  public:
    FullZipOpener(const FullZipLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page)
        : layout_(layout), source_(source), type_(type), page_(page) {}

    void open() {
        page_.start = source_.buffers[0];
        page_.end = source_.buffers[1];
        const bool has_lists = max_repetition(layout_.layers) > 0;
        if ((layout_.bits_rep > 0) != has_lists) {
            fail("repetition levels of ", layout_.bits_rep, " bits for layers ", names_of(layout_.layers));
        }
        if (!source_.head.empty()) {
            starts_ = row_starts(source_.head[0], source_.num_rows, page_.end - page_.start);
            page_.num_bytes += kRowStartBytes * (source_.num_rows + 1);
        }
        type_.check(layout_.layers);
        num_levels_ = layout_.bits_def > 0 ? max_definition(layout_.layers) : 0;
        has_bytes_ = layout_.length_bytes > 0 || layout_.value_bytes > 0;
        if (has_bytes_) page_.values.emplace().has_nulls = num_levels_ > 0;
        if (type_.is_nested) {
            open_chain();
        } else if (!has_lists) {
            open_values();
        }
    }

  private:
    bool has_lengths() const { return layout_.length_bytes > 0; }

    std::unique_ptr<PageReader> reader(const ValueDecoding& decoding, const ColumnFormat& format,
                                       std::optional<Compression> compression) {
        FullZipValues values{layout_.bits_def, num_levels_, layout_.value_bytes, layout_.length_bytes, {},
                             format,           compression};
        if (!decoding.symbol_table.empty()) values.symbol_table = page_.own.copy_of(decoding.symbol_table);
        return std::make_unique<FullZipReader>(values, source_.num_rows, has_lengths() ? starts_ : std::nullopt);
    }

    // The reader of values without parts, not inside lists; null for others.
    std::unique_ptr<PageReader> plain() {
        const std::optional<ColumnFormat> format = plain_format(type_.shape);
        if (!format || type_.index_bits != 0 || max_repetition(layout_.layers) > 0) return nullptr;
        const std::optional<ValueDecoding> decoding = decoding_of(uncompressed(layout_.values), format->list_size);
        const std::optional<Compression> compression = compression_of(layout_.values);
        if (!decoding || (compression && decoding->codec != ValueCodec::kVariable)) return nullptr;
        const bool is_flat = decoding->codec == ValueCodec::kFlat;
        if (!is_flat && !is_string(decoding->codec)) return nullptr;
        if (!fits(*decoding, *format, false) || is_flat == has_lengths() || format->bits != decoding->bits) {
            return nullptr;
        }
        if (is_flat && (decoding->bits % 8 != 0 || decoding->bits / 8 != layout_.value_bytes)) return nullptr;
        page_.form = PageForm::kValues;
        return reader(*decoding, *format, compression);
    }

    // Only tests which values are NULL.
    std::unique_ptr<PageReader> null_tests() {
        if (!has_bytes_) return nullptr;
        const ColumnFormat format =
            has_lengths() ? ColumnFormat{true, 8 * layout_.length_bytes} : ColumnFormat{false, 8 * layout_.value_bytes};
        return reader({}, format, std::nullopt);
    }

    void open_entries(std::unique_ptr<const PageReader> tested) {
        require_known(type_);
        const EntryRules rules = rules_of(layout_.layers);
        const ZipShape entries(layout_.bits_rep, layout_.bits_def, rules.max_visible, layout_.value_bytes,
                               layout_.length_bytes);
        try {
            CellEncoding cells =
                has_lengths() ? string_cells(layout_.values, page_.own) : fixed_cells(layout_.values, page_.own);
            auto values =
                std::make_unique<ZipComposites>(type_.shape, entries, std::move(cells), page_.end - page_.start);
            auto levels = std::make_unique<ZipLevels>(rules, entries, starts_);
            open_nested(page_, std::move(values), std::move(levels), type_.around(layout_.layers), source_.num_rows,
                        false, std::move(tested));
        } catch (const InvalidData& error) {
            rethrow_becoming(error, type_);
        }
        page_.form = PageForm::kParts;
    }

    // Arrays of all layers.
    void open_chain() {
        if (type_.is_never_null_around(layout_.layers)) {
            if (std::unique_ptr<PageReader> values = plain()) {
                open_nested(page_, std::move(values), nullptr, type_.around(layout_.layers), source_.num_rows, false);
                return;
            }
        }
        open_entries(nullptr);
    }

    // Values alone.
    void open_values() {
        page_.reader = plain();
        if (page_.reader) return;
        if (!type_.outer.empty()) {
            page_.reader = null_tests();
            return;
        }
        try {
            open_entries(null_tests());
        } catch (const InvalidData& error) {
            if (!has_bytes_) throw;
            // which values are NULL can be tested even so
            page_.reader = null_tests();
            page_.refusal = {error.what(), dynamic_cast<const Unsupported*>(&error) != nullptr};
        }
    }

    const FullZipLayout& layout_;
    const PageSource& source_;
    const ColumnType& type_;
    OpenPage& page_;
    std::optional<std::vector<int64_t>> starts_;
    int64_t num_levels_ = 0;
    bool has_bytes_ = false;
};

}  // namespace

void open_full_zip(const FullZipLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page) {
    FullZipOpener(layout, source, type, page).open();
}

}  // namespace lance
