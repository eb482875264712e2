// Layers of pages and types are both listed from the inside.
#include "layouts/column_type.h"

#include <algorithm>

namespace lance {

namespace {

constexpr int64_t kMostListItems = int64_t{1} << 20;

bool is_known(const ValueShape& shape) {
    return shape.kind != ValueShape::Kind::kOther && std::ranges::all_of(shape.children, is_known);
}

}  // namespace

bool ColumnType::has_lists() const {
    return std::ranges::any_of(outer, [](const Around& each) { return each.offset_bits != 0 || each.list_size != 1; });
}

int64_t ColumnType::items_per_row() const {
    int64_t num_items = 1;
    for (const Around& each : outer) num_items = multiply(num_items, each.list_size);
    return num_items;
}

bool ColumnType::has_plain_values() const {
    return outer.empty() && index_bits == 0 && plain_format(shape).has_value();
}

bool ColumnType::is_empty_struct() const {
    return shape.kind == ValueShape::Kind::kStruct && shape.children.empty() && index_bits == 0 && !has_lists();
}

bool ColumnType::is_never_null_around(const Layers& layers) const {
    if (has_lists() || is_empty_struct()) return false;
    return std::all_of(layers.begin() + 1, layers.end(), [](Layer each) { return each.num_levels() == 0; });
}

void ColumnType::check(const Layers& layers) const {
    // writers leave out the structs around it, none of which may be NULL
    if (is_empty_struct() && names_of(layers) == "['NULLABLE_ITEM']") return;
    bool fits = layers.size() == outer.size() + 1 && !layers[0].is_list();
    for (size_t i = 0; fits && i < outer.size(); ++i) fits = layers[i + 1].is_list() == (outer[i].offset_bits != 0);
    if (!fits) fail("a page with layers ", names_of(layers), " cannot hold ", name);
}

std::vector<NestedLayer> ColumnType::around(const Layers& layers) const {
    std::vector<NestedLayer> found;
    for (size_t i = 0; i < layers.size(); ++i) {
        const Around each = i == 0 ? Around{0, 1} : outer[i - 1];
        found.push_back({each.offset_bits, layers[i].num_levels(), layers[i].has_empty_lists(), each.list_size});
    }
    return found;
}

std::optional<ColumnFormat> plain_format(const ValueShape& shape) {
    const auto is_plain = [](const ValueShape& each) {
        return each.kind == ValueShape::Kind::kPlain && each.format.bits > 0;
    };
    if (is_plain(shape)) return shape.format;
    if (shape.kind != ValueShape::Kind::kLists || shape.list_size < 1 || shape.list_size > kMostListItems) return {};
    const ValueShape& items = shape.children.at(0);
    if (!is_plain(items) || items.format.variable || items.format.bits % 8 != 0) return {};
    return ColumnFormat{false, multiply(shape.list_size, items.format.bits), shape.list_size};
}

void require_known(const ColumnType& type) {
    const bool are_indices = type.index_bits != 0 && !type.makes_items;
    if (are_indices || !is_known(type.shape)) {
        fail_unsupported("values of ", type.leaf_name, " are not supported without a dictionary or levels");
    }
}

}  // namespace lance
