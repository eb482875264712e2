// Mini-block pages. Buffers: chunk words, chunks, then a dictionary and an index of rows if the layout has them.
#include "layouts/composite_reader.h"
#include "layouts/compressed_chunks.h"
#include "layouts/mini_block_reader.h"
#include "layouts/page_opening.h"

#include "encodings/decode.h"

namespace lance {

namespace {

using Kind = EncodingKind;

constexpr int64_t kMostDictionaryItems = int64_t{1} << 31;
// Longer dictionaries are read where they are.
constexpr int64_t kMostCopied = 64 * 1024;
constexpr int64_t kChunkBytes = 32;

bool is_index(int64_t bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; }

// How many rows start, and end, in the chunks up to each.
struct RowIndex {
    std::vector<int64_t> starts_through;
    std::vector<int64_t> ends_through;
};

class MiniBlockOpener {
  public:
    MiniBlockOpener(const MiniBlockLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page)
        : layout_(layout), source_(source), type_(type), page_(page), values_(uncompressed(layout.values)) {}

    void open() {
        page_.start = source_.buffers[2];
        page_.end = source_.buffers[3];
        page_.table = std::make_unique<const ChunkTable>(source_.head.at(0), layout_.num_items, layout_.shape,
                                                         page_.end - page_.start);
        page_.num_bytes += kChunkBytes * (page_.table->num_chunks() + 1);
        if (layout_.repetition) repetition_ = levels_of(*layout_.repetition);
        if (layout_.definition) definition_ = levels_of(*layout_.definition);
        if (layout_.dictionary) read_dictionary();
        if (max_repetition(layout_.layers) > 0) read_rows();
        type_.check(layout_.layers);
        if (!rows_ && layout_.num_items < source_.num_rows) {
            fail(layout_.num_items, " items for ", source_.num_rows, " rows");
        }
        note_tested();
        if (type_.is_nested) {
            open_chain();
        } else {
            open_values();
        }
    }

  private:
    void read_dictionary() {
        const int64_t num_items = layout_.num_dictionary_items;
        if (num_items > kMostDictionaryItems) fail("a dictionary of ", num_items, " items is not possible");
        Bytes stored = source_.head.at(1);
        if (size_of(stored) <= kMostCopied) {
            stored = page_.own.copy_of(stored);
        } else {
            page_.refers_to_head = true;
        }
        items_ = decode_block(*layout_.dictionary, stored, num_items, page_.own);
    }

    // For each chunk the rows that end in it, and the entries that are left over for the next.
    void read_rows() {
        RowIndex& rows = rows_.emplace();
        const int64_t num_chunks = page_.table->num_chunks();
        const int64_t num_rows = source_.num_rows;
        if (layout_.repetition_index_depth == 0) {
            if (num_chunks != 1) fail("a page of lists in several chunks without a repetition index");
            rows.starts_through = rows.ends_through = {num_rows};
            return;
        }
        const Bytes index = source_.head.back();
        if (size_of(index) != 16 * num_chunks) {
            fail("a repetition index of ", index.size(), " bytes for ", num_chunks, " chunks");
        }
        int64_t started = 0;
        int64_t ended = 0;
        bool goes_on = false;
        for (int64_t i = 0; i < num_chunks; ++i) {
            const auto ending = load<uint64_t>(index.data() + 16 * i);
            if (ending > static_cast<uint64_t>(num_rows)) fail("a repetition index with more than ", num_rows, " rows");
            const bool went_on = goes_on;
            goes_on = load<uint64_t>(index.data() + 16 * i + 8) > 0;
            const int64_t starting = static_cast<int64_t>(ending) + goes_on - went_on;
            started += starting;
            ended += static_cast<int64_t>(ending);
            if (starting < 0 || ended > num_rows) break;
            rows.starts_through.push_back(started);
            rows.ends_through.push_back(ended);
        }
        const bool is_whole = static_cast<int64_t>(rows.ends_through.size()) == num_chunks;
        if (!is_whole || ended != num_rows || goes_on) {
            fail("a repetition index that does not add up to ", num_rows, " rows");
        }
    }

    bool may_be_null() const { return definition_ && max_definition(layout_.layers) > 0; }

    void note_tested() {
        TestedValues& tested = page_.values.emplace();
        const std::optional<ValueDecoding> decoding = decoding_of(values_, 0);
        if (decoding && is_string(decoding->codec)) {
            tested.are_strings = type_.index_bits == 0 && type_.shape.kind == ValueShape::Kind::kPlain;
        } else if (decoding && (is_index(decoding->bits) || decoding->bits == 128)) {
            tested.bits = decoding->bits;
        }
        tested.has_nulls = may_be_null();
        tested.items = items_;
    }

    // NULL are values, and those inside NULL structs.
    std::optional<LevelEncoding> own_levels() const { return may_be_null() ? definition_ : std::nullopt; }

    std::unique_ptr<PageReader> reader(const MiniBlockValues& values, std::optional<Compression> compression) {
        std::unique_ptr<PageReader> made = std::make_unique<MiniBlockReader>(*page_.table, values);
        if (!compression) return made;
        return std::make_unique<CompressedChunksReader>(*page_.table, *compression, std::move(made));
    }

    // The reader of values without parts; null for others.
    std::unique_ptr<PageReader> plain(std::optional<LevelEncoding> levels) {
        if (items_ && type_.index_bits != 0) return indices(levels);
        const std::optional<ColumnFormat> format = plain_format(type_.shape);
        if (!format || (type_.index_bits != 0 && !type_.makes_items)) return nullptr;
        const std::optional<ValueDecoding> decoding = decoding_of(values_, format->list_size);
        if (!decoding) return nullptr;
        MiniBlockValues values{decoding->codec, decoding->bits, levels, {}, std::nullopt, *format, false};
        if (items_) {
            if (is_string(decoding->codec) || !is_index(decoding->bits) || format->list_size != 0) return nullptr;
            values.dictionary = items_for(*format);
            if (!values.dictionary) return nullptr;
        } else if (!fits(*decoding, *format, type_.shape.narrows)) {
            return nullptr;
        }
        if (!decoding->symbol_table.empty()) values.symbol_table = page_.own.copy_of(decoding->symbol_table);
        page_.form = PageForm::kValues;
        return reader(values, compression_of(layout_.values));
    }

    std::unique_ptr<PageReader> indices(std::optional<LevelEncoding> levels) {
        const std::optional<ValueDecoding> decoding = decoding_of(values_, 0);
        if (!decoding || is_string(decoding->codec) || !is_index(decoding->bits)) return nullptr;
        if (items_->num_values - 1 > type_.most_items) {
            fail(items_->num_values, " dictionary items are more than ", type_.leaf_name, " can count");
        }
        const ColumnFormat format{false, type_.index_bits};
        page_.form = PageForm::kIndices;
        return reader({decoding->codec, decoding->bits, levels, {}, to_items(*items_), format, true},
                      compression_of(layout_.values));
    }

    static DictionaryItems to_items(const Block& block) {
        return {block.num_values, block.bits, block.variable, block.offsets, block.data};
    }

    // The items of a dictionary for values of a format; nothing if they do not fit.
    std::optional<DictionaryItems> items_for(const ColumnFormat& format) {
        if (type_.shape.narrows && !items_->variable && items_->bits == 128) {
            const MutableBytes narrow = page_.own.take(items_->num_values * 8);
            if (!narrow_decimal(items_->data, items_->num_values, narrow)) {
                fail("a value does not fit ", type_.leaf_name);
            }
            return DictionaryItems{items_->num_values, 64, false, {}, narrow};
        }
        if (items_->variable != format.variable) return std::nullopt;
        if (!items_->variable && (items_->bits != format.bits || items_->bits % 8 != 0)) return std::nullopt;
        return to_items(*items_);
    }

    // Only tests which values are NULL.
    std::unique_ptr<PageReader> null_tests() {
        return reader({ValueCodec::kOther, 0, own_levels(), {}, std::nullopt, {false, 8}, false}, std::nullopt);
    }

    std::unique_ptr<PageReader> parts() {
        const bool have_parts =
            values_.is(Kind::kFlat) || values_.is(Kind::kFixedSizeList) || values_.is(Kind::kPackedStruct);
        if (items_ || !have_parts) refuse();
        require_known(type_);
        try {
            auto made = std::make_unique<ChunkComposites>(type_.shape, *page_.table, chunk_cells(values_),
                                                          compression_of(layout_.values));
            page_.form = PageForm::kParts;
            return made;
        } catch (const InvalidData& error) {
            rethrow_becoming(error, type_);
        }
    }

    // Throws the error for values that have no reader.
    [[noreturn]] void refuse() {
        if (items_) {
            const std::optional<ColumnFormat> format = plain_format(type_.shape);
            const bool are_same_kind = format && items_->variable == format->variable;
            if (type_.index_bits == 0 && (!are_same_kind || (!items_->variable && items_->bits != format->bits))) {
                fail("dictionary items of ", items_->bits, " bits cannot be ", type_.leaf_name);
            }
            fail("dictionary indices encoded as ", name_of(values_));
        }
        if (values_.is(Kind::kFsst)) string_cells(values_, page_.own);
        if (values_.is(Kind::kRle)) run_bits(values_);
        if (values_.is(Kind::kGeneral)) {
            fail_unsupported("encoding General inside of General is not supported in a mini-block page");
        }
        if (!decoding_of(values_, 0)) {
            fail_unsupported("encoding ", name_of(values_), " is not supported in a mini-block page");
        }
        fail("values encoded as ", title_of(values_), " cannot be ", type_.leaf_name);
    }

    std::unique_ptr<const LevelSource> levels() {
        return std::make_unique<ChunkLevels>(*page_.table, rules_of(layout_.layers), rows_ ? repetition_ : std::nullopt,
                                             definition_, rows_ ? as_bytes(rows_->starts_through) : Bytes(),
                                             rows_ ? as_bytes(rows_->ends_through) : Bytes());
    }

    void open_around(std::unique_ptr<PageReader> values, std::unique_ptr<const PageReader> tested = nullptr) {
        open_nested(page_, std::move(values), levels(), type_.around(layout_.layers), source_.num_rows, false,
                    std::move(tested));
    }

    // Arrays of all layers.
    void open_chain() {
        if (type_.is_never_null_around(layout_.layers)) {
            if (std::unique_ptr<PageReader> values = plain(own_levels())) {
                open_nested(page_, std::move(values), nullptr, type_.around(layout_.layers), source_.num_rows, false);
                return;
            }
        }
        std::unique_ptr<PageReader> values = plain(std::nullopt);
        open_around(values ? std::move(values) : parts());
    }

    // Values alone.
    void open_values() {
        page_.reader = plain(own_levels());
        if (page_.reader) return;
        if (!type_.outer.empty()) {
            page_.reader = null_tests();
            return;
        }
        try {
            open_around(parts(), null_tests());
        } catch (const InvalidData& error) {
            // which values are NULL can be tested even so
            page_.form = PageForm::kNone;
            page_.reader = null_tests();
            page_.refusal = {error.what(), dynamic_cast<const Unsupported*>(&error) != nullptr};
        }
    }

    const MiniBlockLayout& layout_;
    const PageSource& source_;
    const ColumnType& type_;
    OpenPage& page_;
    const EncodingTree& values_;
    std::optional<LevelEncoding> repetition_;
    std::optional<LevelEncoding> definition_;
    std::optional<Block> items_;
    std::optional<RowIndex> rows_;
};

}  // namespace

void open_mini_block(const MiniBlockLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page) {
    MiniBlockOpener(layout, source, type, page).open();
}

}  // namespace lance
