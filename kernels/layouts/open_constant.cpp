// Constant pages. Buffers: the value unless it is inline or there is none, then repetition and definition levels, if
// any.
#include <algorithm>
#include <utility>

#include "encodings/decode.h"
#include "layouts/composite_reader.h"
#include "layouts/constant_reader.h"
#include "layouts/page_opening.h"

namespace lance {

namespace {

constexpr int64_t kLevelBits = 16;

// The buffers of an Arrow array of one value: their number, their lengths, the buffers.
std::vector<Bytes> buffers_of_scalar(Bytes scalar) {
    if (size_of(scalar) < 4) fail("a constant of ", scalar.size(), " bytes has no header");
    const auto count = load<uint32_t>(scalar.data());
    const size_t header = 4 + 4 * size_t{count};
    if (count < 1 || count > 2 || scalar.size() < header) {
        fail("a constant of ", count, " buffers in ", scalar.size(), " bytes");
    }
    const size_t first = load<uint32_t>(scalar.data() + 4);
    const size_t second = count == 2 ? load<uint32_t>(scalar.data() + 8) : 0;
    if (scalar.size() - header != first + second) {
        fail("a constant of ", first + second, " bytes in ", scalar.size(), " bytes");
    }
    std::vector<Bytes> buffers{scalar.subspan(header, first)};
    if (count == 2) buffers.push_back(scalar.subspan(header + first, second));
    return buffers;
}

// u16 levels; plain without an encoding, nothing if there are no bytes.
std::optional<Bytes> levels_in(const std::optional<EncodingTree>& encoding, Bytes stored, int64_t num_levels,
                               OwnBytes& own) {
    if (stored.empty()) return std::nullopt;
    if (!encoding) {
        if (stored.size() % 2 != 0) fail("levels of ", stored.size(), " bytes");
        return own.copy_of(stored);
    }
    const Block block = decode_block(*encoding, stored, num_levels, own);
    if (block.variable || block.bits != kLevelBits) fail("levels encoded as ", name_of(*encoding));
    const Bytes levels = block.data.first(static_cast<size_t>(2 * num_levels));
    return encoding->is(EncodingKind::kFlat) ? own.copy_of(levels) : levels;
}

class ConstantOpener {
  public:
    ConstantOpener(const ConstantLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page)
        : layout_(layout), source_(source), type_(type), page_(page) {}

    void open() {
        read_value();
        read_levels();
        type_.check(layout_.layers);
        if (type_.is_nested) {
            open_chain();
        } else if (!rep_) {
            open_values();
        }
        note_tested();
    }

  private:
    void read_value() {
        const size_t num_buffers = source_.head.size();
        if (layout_.inline_value) buffers_ = {*layout_.inline_value};
        if (num_buffers == 1 || num_buffers == 3) buffers_ = buffers_of_scalar(source_.head[0]);
    }

    void read_levels() {
        const std::vector<Bytes>& head = source_.head;
        const int64_t num_rows = source_.num_rows;
        if (head.size() < 2) return;
        rep_ = levels_in(layout_.repetition, head[head.size() - 2], layout_.num_rep_values, page_.own);
        def_ = levels_in(layout_.definition, head[head.size() - 1], layout_.num_def_values, page_.own);
        if (rep_ && def_ && rep_->size() != def_->size()) {
            fail(rep_->size() / 2, " repetition and ", def_->size() / 2, " definition levels");
        }
        if (!rep_) {
            if (def_ && size_of(*def_) != 2 * num_rows) {
                fail(def_->size() / 2, " definition levels for ", num_rows, " rows");
            }
            return;
        }
        const auto starts_row = static_cast<uint16_t>(max_repetition(layout_.layers));
        int64_t num_started = 0;
        for (size_t i = 0; i < rep_->size(); i += 2) num_started += load<uint16_t>(rep_->data() + i) == starts_row;
        const bool begins = num_rows == 0 || (!rep_->empty() && load<uint16_t>(rep_->data()) == starts_row);
        if (num_started != num_rows || !begins) {
            fail("levels of ", num_started, " rows in a page of ", num_rows);
        }
    }

    bool has_value() const { return !buffers_.empty(); }

    // The bytes of the value in a format; a bit is in a byte.
    Bytes value_in(const ColumnFormat& format) {
        if (buffers_.size() == 2) {
            const Bytes text = text_of(buffers_[0], buffers_[1]);
            if (!format.variable) fail("byte strings cannot be ", type_.leaf_name);
            return text;
        }
        const Bytes value = buffers_.at(0);
        if (format.variable) return value;
        const bool narrows = type_.shape.narrows;
        if (size_of(value) != (narrows ? 16 : bytes_for_bits(format.bits))) {
            fail("a constant of ", value.size(), " bytes for ", type_.leaf_name);
        }
        if (!narrows) return value;
        const MutableBytes narrow = page_.own.take(8);
        if (!narrow_decimal(value, 1, narrow)) fail("a value does not fit ", type_.leaf_name);
        return narrow;
    }

    static Bytes text_of(Bytes offsets, Bytes bytes) {
        if (offsets.size() != 8 && offsets.size() != 16) {
            fail("a constant string with offsets of ", offsets.size(), " bytes");
        }
        const bool is_narrow = offsets.size() == 8;
        const uint64_t start = is_narrow ? load<uint32_t>(offsets.data()) : load<uint64_t>(offsets.data());
        const uint64_t end = is_narrow ? load<uint32_t>(offsets.data() + 4) : load<uint64_t>(offsets.data() + 8);
        if (start > end || end > bytes.size()) {
            fail("a constant string at [", start, ", ", end, ") of ", bytes.size(), " bytes");
        }
        return bytes.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
    }

    void check_nulls() const {
        if (!has_value() && max_definition(layout_.layers) == 0) {
            fail("a constant page without a value, but with items that are not NULL");
        }
    }

    // A bit for each row, if some may be NULL.
    std::optional<Bytes> validity() {
        if (!def_) return std::nullopt;
        const int64_t most = max_definition(layout_.layers);
        const MutableBytes bits = page_.own.take(bytes_for_bits(source_.num_rows));
        std::ranges::fill(bits, uint8_t{0});
        for (int64_t row = 0; row < source_.num_rows; ++row) {
            const auto level = load<uint16_t>(def_->data() + 2 * row);
            if (level > most) fail("a definition level ", level, " of layers with ", most);
            if (level == 0) bits[static_cast<size_t>(row / 8)] |= static_cast<uint8_t>(1U << (row % 8));
        }
        return has_value() ? std::optional<Bytes>(bits) : std::nullopt;
    }

    // The reader of the value in so many rows, or of NULLs.
    std::unique_ptr<PageReader> values(int64_t count, std::optional<Bytes> validity) {
        const std::optional<ColumnFormat> format = plain_format(type_.shape);
        if (format) {
            const Bytes value = has_value() ? page_.own.copy_of(value_in(*format)) : Bytes();
            item_ = Block{has_value() ? 1 : 0, format->bits, format->variable, {}, value};
        }
        if (type_.index_bits != 0) {
            if (!format && has_value()) require_known(type_);
            page_.form = PageForm::kIndices;
            const MutableBytes first = page_.own.take(type_.index_bits / 8);
            std::ranges::fill(first, uint8_t{0});
            return constant({false, type_.index_bits}, count, first, validity);
        }
        if (format) {
            page_.form = PageForm::kValues;
            return constant(*format, count, item_->data, validity);
        }
        require_known(type_);
        page_.form = PageForm::kParts;
        if (buffers_.size() == 2) fail("byte strings cannot be ", type_.leaf_name);
        const std::optional<Bytes> value = has_value() ? std::optional(page_.own.copy_of(buffers_[0])) : std::nullopt;
        try {
            return std::make_unique<RepeatedComposites>(type_.shape, count, value);
        } catch (const InvalidData& error) {
            rethrow_becoming(error, type_);
        }
    }

    std::unique_ptr<PageReader> constant(const ColumnFormat& format, int64_t count, Bytes value,
                                         std::optional<Bytes> validity) {
        const std::optional<Bytes> given = has_value() ? std::optional(value) : std::nullopt;
        return std::make_unique<ConstantReader>(format, count, given, validity);
    }

    // A constant is its only item, and no item if all rows are NULL.
    void note_tested() {
        TestedValues& tested = page_.values.emplace();
        tested.has_nulls = def_.has_value() && has_value();
        if (has_value() && !item_) return;
        tested.bits = 8;
        tested.items = item_.value_or(Block{});
    }

    // Arrays of all layers.
    void open_chain() {
        const Layers& layers = layout_.layers;
        const int64_t num_rows = source_.num_rows;
        if (rep_.has_value() != (max_repetition(layers) > 0)) {
            fail("a constant page of lists without repetition levels, or of others with them");
        }
        if (type_.is_empty_struct() && !rep_ && !def_) {
            // an empty struct stores nothing, but is present
            const Layers present(type_.outer.size() + 1, Layer{1});
            page_.form = PageForm::kParts;
            open_nested(page_, std::make_unique<RepeatedComposites>(type_.shape, num_rows, std::nullopt), nullptr,
                        type_.around(present), num_rows, false);
            return;
        }
        check_nulls();
        if (!rep_ && !def_) {
            if (has_value() || type_.is_never_null_around(layers)) {
                open_nested(page_, values(num_rows, std::nullopt), nullptr, type_.around(layers), num_rows, false);
                return;
            }
            // all of the outermost structs are NULL
            const auto level = static_cast<uint16_t>(max_definition(layers));
            open_nested(page_, values(num_rows, std::nullopt), std::make_unique<SameLevels>(rules_of(layers), level),
                        type_.around(layers), num_rows, true);
            return;
        }
        const int64_t num_entries = rep_ ? size_of(*rep_) / 2 : num_rows;
        auto levels = std::make_unique<StoredLevels>(rules_of(layers), num_rows, rep_, def_);
        open_nested(page_, values(num_entries, std::nullopt), std::move(levels), type_.around(layers), num_rows,
                    !has_value());
    }

    // Values alone.
    void open_values() {
        check_nulls();
        if (plain_format(type_.shape) || type_.index_bits != 0) {
            page_.reader = values(source_.num_rows, validity());
        } else if (type_.outer.empty()) {
            open_chain();
        }
    }

    const ConstantLayout& layout_;
    const PageSource& source_;
    const ColumnType& type_;
    OpenPage& page_;
    std::vector<Bytes> buffers_;  // of the value; none without one
    std::optional<Bytes> rep_;
    std::optional<Bytes> def_;
    std::optional<Block> item_;  // the value as that of a dictionary
};

}  // namespace

void open_constant(const ConstantLayout& layout, const PageSource& source, const ColumnType& type, OpenPage& page) {
    ConstantOpener(layout, source, type, page).open();
}

}  // namespace lance
