// Splits the levels of the pages, reads all values into one array, and wraps it in the layers.
#include "layouts/nested_reader.h"

#include <utility>

#include "arrow/held_arrays.h"
#include "layouts/composite_reader.h"
#include "predicates/passed_ranges.h"

namespace lance {

namespace {

// Rows of a page: the structure around their values, and the positions of the values.
struct Unravelled {
    size_t part;
    std::vector<NodeSlots> layers;
    std::vector<int64_t> items;
    int64_t num_items;
};

bool have_same_kinds(const std::vector<NestedLayer>& some, const std::vector<NestedLayer>& others) {
    return std::ranges::equal(some, others, {}, &NestedLayer::offset_bits, &NestedLayer::offset_bits);
}

// The rows of one part, added to `out`.
void unravel_part(const std::vector<PagePart>& parts, size_t number, const Ranges& rows, std::vector<Unravelled>& out) {
    const NestedReader& page = *parts[number].page->nested();
    int64_t num_rows = 0;
    for (Entries& entries : page.entries(parts[number].bytes, rows)) {
        const int64_t num_items =
            entries.num_items.value_or(Ranges(as_bytes(entries.items), page.values().num_rows()).num_items());
        page.values().require_bytes(parts[number].bytes, num_items);
        std::vector<NodeSlots> layers = unravel(entries, page.layers(), num_items);
        num_rows += layers.back().num_slots;
        out.push_back({number, std::move(layers), std::move(entries.items), num_items});
    }
    if (num_rows != rows.num_items()) fail(rows.num_items(), " rows became ", num_rows);
}

void read_values(const PagePart& part, const Unravelled& piece, ColumnBuilder& out) {
    const NestedReader& page = *part.page->nested();
    const Ranges items(as_bytes(piece.items), page.values().num_rows());
    const int64_t before = out.num_rows();
    if (page.are_null()) {
        const PooledBuffer nothing(bytes_for_bits(piece.num_items));
        std::memset(nothing.data(), 0, static_cast<size_t>(bytes_for_bits(piece.num_items)));
        out.expect_validity(nothing.data());
        page.values().read(part.bytes, items, out);
        out.expect_validity(nullptr);
    } else {
        const NodeSlots& own = piece.layers[0];
        out.expect_validity(own.num_null > 0 ? own.validity.data() : nullptr);
        page.values().read(part.bytes, items, out);
        out.expect_validity(nullptr);
    }
    if (out.num_rows() - before != piece.num_items) {
        fail(piece.num_items, " values became ", out.num_rows() - before);
    }
}

void read_composites(const PagePart& part, const Unravelled& piece, ValueBuilder& out) {
    const NestedReader& page = *part.page->nested();
    const Ranges items(as_bytes(piece.items), page.values().num_rows());
    const int64_t before = out.num_rows();
    const PooledBuffer nothing(page.are_null() ? bytes_for_bits(piece.num_items) : 0);
    if (page.are_null() && piece.num_items > 0) {
        std::memset(nothing.data(), 0, static_cast<size_t>(bytes_for_bits(piece.num_items)));
    }
    const NodeSlots& own = piece.layers[0];
    const uint8_t* validity = page.are_null() ? nothing.data() : own.num_null > 0 ? own.validity.data() : nullptr;
    page.values().composite()->append(part.bytes, items, piece.num_items, validity, out);
    if (out.num_rows() - before != piece.num_items) {
        fail(piece.num_items, " values became ", out.num_rows() - before);
    }
}

// The values of all pieces.
ArrowArray read_leaves(const std::vector<PagePart>& parts, const std::vector<Unravelled>& pieces, size_t& number) {
    int64_t num_items = 0;
    for (const Unravelled& each : pieces) num_items += each.num_items;
    const PageReader& first = parts[0].page->nested()->values();
    if (const CompositeReader* composite = first.composite()) {
        ValueBuilder values(composite->shape(), num_items);
        for (const Unravelled& each : pieces) {
            number = each.part;
            read_composites(parts[each.part], each, values);
        }
        return values.finish();
    }
    ColumnBuilder values(first.format(), num_items);
    for (const Unravelled& each : pieces) {
        number = each.part;
        read_values(parts[each.part], each, values);
    }
    ArrowArray array{};
    values.finish(array);
    return array;
}

bool have_same_values(const PageReader& some, const PageReader& others) {
    const CompositeReader* one = some.composite();
    const CompositeReader* other = others.composite();
    if (one == nullptr || other == nullptr) return one == other && some.format() == others.format();
    return one->shape() == other->shape();
}

}  // namespace

NestedReader::NestedReader(const PageReader& values, std::vector<NestedLayer> layers,
                           std::unique_ptr<const LevelSource> levels, int64_t num_rows, bool are_null,
                           const PageReader* tested)
    : values_(values),
      layers_(std::move(layers)),
      levels_(std::move(levels)),
      num_rows_(num_rows),
      are_null_(are_null),
      tested_(tested) {
    if (layers_.empty() || layers_[0].is_list()) fail("values without a layer of their own");
    bool has_lists = false;
    for (const NestedLayer& layer : layers_) {
        if (layer.offset_bits != 0 && layer.offset_bits != 32 && layer.offset_bits != 64) {
            fail("lists with offsets of ", layer.offset_bits, " bits");
        }
        if (layer.num_levels > 2) fail("a layer of ", layer.num_levels, " levels");
        has_lists |= layer.is_list();
    }
    if (!has_lists && num_rows > values.num_rows()) fail(values.num_rows(), " items for ", num_rows, " rows");
}

ArrowArray read_nested(const std::vector<PagePart>& parts, std::optional<Bytes> flags, size_t& number) {
    if (parts.empty()) fail("an array of no pages");
    const std::vector<NestedLayer>& layers = parts[0].page->nested()->layers();
    const PageReader& values = parts[0].page->nested()->values();
    std::vector<Unravelled> pieces;
    int64_t position = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        number = i;
        const PagePart& part = parts[i];
        const NestedReader* page = part.page->nested();
        if (page == nullptr || !have_same_values(page->values(), values) || !have_same_kinds(page->layers(), layers)) {
            fail("pages of several formats in one array");
        }
        if (!flags) {
            unravel_part(parts, i, part.rows, pieces);
            continue;
        }
        const int64_t count = part.rows.num_items();
        if (position + count > size_of(*flags)) fail("rows outside of the batch");
        const std::vector<int64_t> passed =
            flagged_ranges(part.rows, flags->subspan(static_cast<size_t>(position), static_cast<size_t>(count)));
        unravel_part(parts, i, Ranges(as_bytes(passed), page->num_rows()), pieces);
        position += count;
    }
    HeldArrays inside(1);
    inside.arrays[0] = read_leaves(parts, pieces, number);
    for (size_t layer = 1; layer < layers.size(); ++layer) {
        std::vector<NodeSlots> slots;
        for (Unravelled& each : pieces) slots.push_back(std::move(each.layers[layer]));
        NodeSlots all = concatenate(std::move(slots), layers[layer].offset_bits);
        // with room for the next entry, so that it is always released
        inside.arrays[0] = around(std::exchange(inside.arrays, std::vector<ArrowArray>(1)), std::move(all));
    }
    return std::exchange(inside.arrays[0], ArrowArray{});
}

}  // namespace lance
