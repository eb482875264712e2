// Binds the types of columns, and the pages of files 2.1 and 2.2 that are opened one by one.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>

#include "bind/bound_pages.h"
#include "bind/shared_numbers.h"
#include "encodings/unpack_group.h"
#include "layouts/nested_reader.h"

using namespace nanobind::literals;

namespace lance {

namespace {

// ("null"), ("plain", has offsets, bits, whether they may be stored in 128 bits), ("lists", items, shape), ("struct",
// shapes), ("other")
ValueShape to_shape(const nb::tuple& given) {
    const auto kind = nb::cast<std::string>(given[0]);
    ValueShape shape;
    if (kind == "plain") {
        shape.kind = ValueShape::Kind::kPlain;
        shape.format = {nb::cast<bool>(given[1]), to_count(given[2])};
        shape.narrows = nb::cast<bool>(given[3]);
    } else if (kind == "lists") {
        shape.kind = ValueShape::Kind::kLists;
        shape.list_size = to_count(given[1]);
        shape.children.push_back(to_shape(nb::cast<nb::tuple>(given[2])));
    } else if (kind == "struct") {
        shape.kind = ValueShape::Kind::kStruct;
        for (nb::handle each : nb::cast<nb::tuple>(given[1])) {
            shape.children.push_back(to_shape(nb::cast<nb::tuple>(each)));
        }
    } else if (kind == "other") {
        shape.kind = ValueShape::Kind::kOther;
    } else if (kind != "null") {
        throw nb::value_error("a kind of array that is not known");
    }
    return shape;
}

// outer: (bits of offsets or 0, items of a fixed-size list or 1), from the inside
void make_type(ColumnType* self, const nb::tuple& shape, Count index_bits, Count most_items, bool makes_items,
               const nb::list& outer, bool is_nested, bool are_places, std::string leaf_name, std::string name) {
    ColumnType type;
    type.shape = to_shape(shape);
    type.index_bits = index_bits;
    if (type.index_bits != 0) with_word(type.index_bits, [](auto) {});
    type.most_items = most_items;
    type.makes_items = makes_items;
    for (nb::handle each : outer) {
        const auto around = nb::cast<nb::tuple>(each);
        type.outer.push_back({to_count(around[0]), to_count(around[1])});
    }
    type.is_nested = is_nested;
    type.are_places = are_places;
    type.leaf_name = std::move(leaf_name);
    type.name = std::move(name);
    new (self) ColumnType(std::move(type));
}

std::vector<size_t> page_head(const InputBuffer& encoding, Count num_buffers) {
    return head_buffers(parse_page_layout(encoding), static_cast<size_t>(int64_t{num_buffers}));
}

// buffers: start and end of each; head: the contents of those of page_head
BoundPage* stored(const InputBuffer& encoding, Count num_rows, const nb::object& buffers, const nb::list& head,
                  const ColumnType& type) {
    auto page = std::make_unique<BoundPage>();
    std::vector<int64_t> bounds;
    for (nb::handle each : buffers) {
        const auto buffer = nb::cast<nb::tuple>(each);
        bounds.insert(bounds.end(), {to_count(buffer[0]), to_count(buffer[1])});
        if (bounds[bounds.size() - 2] > bounds.back()) fail("a buffer that ends before it starts");
    }
    PageSource source{num_rows, bounds, {}};
    for (nb::handle each : head) {
        page->buffers.push_back(hold(each));
        source.head.push_back(page->buffers.back());
    }
    {
        Unlocked unlocked;
        const PageLayout layout = parse_page_layout(encoding);
        const size_t needed = head_buffers(layout, bounds.size() / 2).size();
        if (needed != source.head.size()) fail("a head of ", source.head.size(), " buffers, expected ", needed);
        page->stored.emplace(open_page(layout, source, type));
    }
    if (!page->stored->refers_to_head) page->buffers.clear();
    return page.release();
}

// Around values of which no level is known: structs that are never NULL.
BoundPage* in_structs(nb::object values, Count num_structs, Count num_rows) {
    auto page = std::make_unique<BoundPage>();
    const PageReader& inside = *nb::cast<const BoundPage&>(values).get();
    std::vector<NestedLayer> layers(static_cast<size_t>(int64_t{num_structs}) + 1, NestedLayer{0, 0, false});
    page->reader =
        std::make_unique<NestedReader>(inside, std::move(layers), std::make_unique<NoLevels>(inside), num_rows, false);
    page->values = std::move(values);
    return page.release();
}

}  // namespace

nb::tuple to_tuple(const Block& block) {
    const nb::object offsets = block.variable ? nb::object(to_bytes(block.offsets)) : nb::none();
    return nb::make_tuple(block.num_values, block.bits, offsets, to_bytes(block.data));
}

void bind_stored_pages(nb::module_& m, nb::class_<BoundPage>& page) {
    nb::class_<ColumnType>(m, "ColumnType")
        .def("__init__", make_type, "shape"_a, nb::kw_only(), "index_bits"_a, "most_items"_a, "makes_items"_a,
             "outer"_a, "is_nested"_a, "are_places"_a, "leaf_name"_a, "name"_a);
    m.def("page_head", page_head, "encoding"_a, "num_buffers"_a);
    constexpr auto policy = nb::rv_policy::take_ownership;
    page.def_static("stored", stored, policy, "encoding"_a, "num_rows"_a, "buffers"_a, "head"_a, "type"_a)
        .def_static("in_structs", in_structs, policy, "values"_a, "num_structs"_a, "num_rows"_a)
        .def_prop_ro("form", [](const BoundPage& self) { return self.stored ? self.stored->form : PageForm::kNone; })
        .def_prop_ro("place",
                     [](const BoundPage& self) -> nb::object {
                         if (!self.stored || !self.stored->reader) return nb::none();
                         return nb::make_tuple(self.stored->start, self.stored->end);
                     })
        .def_prop_ro("refusal",
                     [](const BoundPage& self) -> nb::object {
                         if (!self.stored || !self.stored->refusal) return nb::none();
                         return nb::make_tuple(self.stored->refusal->message, self.stored->refusal->is_unsupported);
                     })
        .def_prop_ro("items", [](const BoundPage& self) -> nb::object {
            if (!self.stored || !self.stored->values || !self.stored->values->items) return nb::none();
            return to_tuple(*self.stored->values->items);
        });
}

}  // namespace lance
