// Encodings become what readers take; levels go around values.
#include "layouts/page_opening.h"

#include <algorithm>

#include "layouts/nested_reader.h"

namespace lance {

namespace {

using Kind = EncodingKind;
using Cell = CellEncoding::Kind;

constexpr int64_t kSymbolTableBytes = 2312;
constexpr int64_t kMostListItems = int64_t{1} << 32;

bool is_word(int64_t bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; }

CellEncoding cells(Cell kind, int64_t bits = 0) {
    CellEncoding made;
    made.kind = kind;
    made.bits = bits;
    return made;
}

bool are_nulls(const EncodingTree& encoding) { return encoding.is(Kind::kConstant) && !encoding.has_value; }

void check_symbols(const EncodingTree& encoding) {
    if (size_of(encoding.symbol_table) != kSymbolTableBytes) {
        fail("a symbol table of ", encoding.symbol_table.size(), " bytes, expected ", kSymbolTableBytes);
    }
    if (!encoding.values().is(Kind::kVariable)) {
        fail_unsupported("FSST over ", name_of(encoding.values()), " is not supported");
    }
}

CellEncoding packed_cells(const EncodingTree& encoding, OwnBytes& own) {
    CellEncoding made = cells(Cell::kPacked);
    made.field_bits = encoding.fields;
    for (size_t i = 0; i < encoding.children.size(); ++i) {
        const EncodingTree& field = encoding.children[i];
        made.children.push_back(encoding.have_length[i] ? string_cells(field, own) : fixed_cells(field, own));
    }
    return made;
}

}  // namespace

std::optional<ValueDecoding> decoding_of(const EncodingTree& values, int64_t list_size) {
    const auto found = [](ValueCodec codec, int64_t bits) { return ValueDecoding{codec, bits, {}}; };
    if (list_size != 0) {
        const bool fits = values.is(Kind::kFixedSizeList) && values.dimension == list_size && !values.has_validity &&
                          values.values().is(Kind::kFlat) && values.values().bits % 8 == 0;
        if (!fits) return std::nullopt;
        return found(ValueCodec::kFlat, multiply(list_size, values.values().bits));
    }
    switch (values.kind) {
        case Kind::kFlat:
            if (values.bits != 1 && values.bits % 8 != 0) return std::nullopt;
            return found(ValueCodec::kFlat, values.bits);
        case Kind::kInlineBitpacking: return found(ValueCodec::kInlineBitpacking, values.bits);
        case Kind::kByteStreamSplit: {
            const EncodingTree& inner = values.values();
            const bool has_width = inner.bits == 128 || (is_word(inner.bits) && inner.bits != 8);
            if (!inner.is(Kind::kFlat) || !has_width) return std::nullopt;
            return found(ValueCodec::kByteStreamSplit, inner.bits);
        }
        case Kind::kRle: {
            const EncodingTree& runs = values.values();
            if (!runs.is(Kind::kFlat) || !is_word(runs.bits) || !values.children[1].is_flat(8)) return std::nullopt;
            return found(ValueCodec::kRle, runs.bits);
        }
        case Kind::kVariable: return found(ValueCodec::kVariable, values.bits);
        case Kind::kFsst:
            if (size_of(values.symbol_table) != kSymbolTableBytes || !values.values().is(Kind::kVariable)) {
                return std::nullopt;
            }
            return ValueDecoding{ValueCodec::kFsst, values.values().bits, values.symbol_table};
        default: return std::nullopt;
    }
}

bool fits(const ValueDecoding& decoding, const ColumnFormat& format, bool narrows) {
    if (is_string(decoding.codec)) return format.variable;
    return !format.variable && (decoding.bits == format.bits || (narrows && decoding.bits == 128));
}

const EncodingTree& uncompressed(const EncodingTree& values) {
    return values.is(Kind::kGeneral) ? values.values() : values;
}

std::optional<Compression> compression_of(const EncodingTree& values) {
    return values.is(Kind::kGeneral) ? std::optional(values.compression) : std::nullopt;
}

EntryRules rules_of(const Layers& layers) {
    EntryRules rules{max_repetition(layers), 0};
    for (const Layer each : layers) {
        if (each.is_list()) break;
        rules.max_visible += each.num_levels();
    }
    return rules;
}

void open_nested(OpenPage& page, std::unique_ptr<const PageReader> values, std::unique_ptr<const LevelSource> levels,
                 std::vector<NestedLayer> layers, int64_t num_rows, bool are_null,
                 std::unique_ptr<const PageReader> tested) {
    if (!levels) levels = std::make_unique<NoLevels>(*values);
    int64_t items_per_row = 1;
    for (const NestedLayer& layer : layers) items_per_row = multiply(items_per_row, layer.list_size);
    if (items_per_row != 1) {
        if (items_per_row == 0 || num_rows % items_per_row != 0) fail(num_rows, " rows of ", items_per_row, " items");
        num_rows /= items_per_row;
        levels = std::make_unique<LevelsOfItems>(std::move(levels), items_per_row, num_rows);
    }
    page.reader =
        std::make_unique<NestedReader>(*values, std::move(layers), std::move(levels), num_rows, are_null, tested.get());
    page.inside.push_back(std::move(values));
    if (tested) page.inside.push_back(std::move(tested));
}

CellEncoding list_cells(const EncodingTree& encoding) {
    int64_t num_items = 1;
    const EncodingTree* inner = &encoding;
    for (; inner->is(Kind::kFixedSizeList); inner = &inner->values()) {
        num_items = multiply(num_items, inner->dimension);
        if (num_items > kMostListItems) fail("a fixed-size list of ", num_items, " items is not possible");
    }
    if (!are_nulls(*inner) && !inner->is(Kind::kFlat)) {
        fail_unsupported("fixed-size lists of items encoded as ", name_of(*inner), " are not supported");
    }
    if (!encoding.is(Kind::kFixedSizeList)) {
        return encoding.is(Kind::kFlat) ? cells(Cell::kNumbers, encoding.bits) : cells(Cell::kNulls);
    }
    CellEncoding made = cells(Cell::kLists);
    made.dimension = encoding.dimension;
    made.has_validity = encoding.has_validity;
    made.children.push_back(list_cells(encoding.values()));
    return made;
}

CellEncoding fixed_cells(const EncodingTree& encoding, OwnBytes&) {
    if (encoding.is(Kind::kFlat) || encoding.is(Kind::kFixedSizeList) || are_nulls(encoding)) {
        return list_cells(encoding);
    }
    fail_unsupported("encoding ", name_of(encoding), " is not supported in a full-zip page of fixed width");
}

CellEncoding string_cells(const EncodingTree& encoding, OwnBytes& own) {
    switch (encoding.kind) {
        case Kind::kVariable: return cells(Cell::kStrings);
        case Kind::kFsst: {
            check_symbols(encoding);
            CellEncoding made = cells(Cell::kSymbols);
            made.symbol_table = own.copy_of(encoding.symbol_table);
            return made;
        }
        case Kind::kGeneral: {
            CellEncoding made = cells(Cell::kCompressed);
            made.compression = encoding.compression;
            made.children.push_back(string_cells(encoding.values(), own));
            return made;
        }
        case Kind::kVariablePackedStruct: return packed_cells(encoding, own);
        case Kind::kConstant:
            if (are_nulls(encoding)) return cells(Cell::kNulls);
            [[fallthrough]];
        default:
            fail_unsupported("encoding ", name_of(encoding), " is not supported in a full-zip page of variable width");
    }
}

CellEncoding chunk_cells(const EncodingTree& encoding) {
    if (encoding.is(Kind::kFlat) || encoding.is(Kind::kFixedSizeList)) return list_cells(encoding);
    if (!encoding.is(Kind::kPackedStruct)) {
        fail_unsupported("encoding ", name_of(encoding), " is not supported in a mini-block page");
    }
    CellEncoding made = cells(Cell::kFields);
    int64_t total = 0;
    for (const int64_t bits : encoding.fields) {
        if (bits % 8 != 0) fail_unsupported("packed structs with a field of ", bits, " bits are not supported");
        made.children.push_back(cells(Cell::kNumbers, bits));
        total += bits;
    }
    if (encoding.fields.empty()) fail_unsupported("packed structs without fields are not supported");
    if (!encoding.values().is_flat(total)) {
        fail("packed structs of ", total, " bits encoded as ", name_of(encoding.values()));
    }
    return made;
}

void rethrow_becoming(const InvalidData& error, const ColumnType& type) {
    if (dynamic_cast<const Unsupported*>(&error) != nullptr) throw;
    fail(error.what(), ": the column has ", type.leaf_name);
}

OpenPage open_page(const PageLayout& layout, const PageSource& source, const ColumnType& type) {
    OpenPage page;
    page.num_bytes = kPageBytes;
    if (const auto* mini_block = std::get_if<MiniBlockLayout>(&layout.kind)) {
        open_mini_block(*mini_block, source, type, page);
    } else if (const auto* full_zip = std::get_if<FullZipLayout>(&layout.kind)) {
        open_full_zip(*full_zip, source, type, page);
    } else if (const auto* constant = std::get_if<ConstantLayout>(&layout.kind)) {
        open_constant(*constant, source, type, page);
    } else if (const auto* blob = std::get_if<BlobLayout>(&layout.kind); type.are_places) {
        return open_page(*blob->inner, source, type);
    } else {
        type.check(blob->layers);
    }
    page.num_bytes += page.own.size();
    return page;
}

}  // namespace lance
