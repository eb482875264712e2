// Binds the readers of values inside lists and structs, and of values with parts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <string>

#include "bind/bound_pages.h"
#include "bind/shared_numbers.h"
#include "layouts/composite_reader.h"
#include "layouts/nested_reader.h"
#include "layouts/zip_levels.h"

using namespace nanobind::literals;

namespace lance {

namespace {

using Levels = std::optional<std::pair<Choice<LevelCodec>, Count>>;

// ("null"), ("plain", has offsets, bits, whether they may be stored in 128 bits), ("lists", items, shape), ("struct",
// shapes)
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
    } else if (kind != "null") {
        throw nb::value_error("a kind of array that is not known");
    }
    return shape;
}

// ("nulls"), ("numbers", bits), ("lists", items, has validity, encoding), ("fields", bits of each), ("strings"),
// ("symbols", table), ("compressed", compression, encoding), ("packed", (bits, encoding) of each)
CellEncoding to_encoding(const nb::tuple& given, BoundPage& page) {
    using Kind = CellEncoding::Kind;
    const auto kind = nb::cast<std::string>(given[0]);
    CellEncoding encoding;
    const auto child = [&](nb::handle each) {
        encoding.children.push_back(to_encoding(nb::cast<nb::tuple>(each), page));
    };
    if (kind == "numbers") {
        encoding.kind = Kind::kNumbers;
        encoding.bits = to_count(given[1]);
    } else if (kind == "lists") {
        encoding.kind = Kind::kLists;
        encoding.dimension = to_count(given[1]);
        encoding.has_validity = nb::cast<bool>(given[2]);
        child(given[3]);
    } else if (kind == "fields") {
        encoding.kind = Kind::kFields;
        for (nb::handle bits : nb::cast<nb::tuple>(given[1])) {
            CellEncoding field;
            field.kind = Kind::kNumbers;
            field.bits = to_count(bits);
            encoding.children.push_back(std::move(field));
        }
    } else if (kind == "strings") {
        encoding.kind = Kind::kStrings;
    } else if (kind == "symbols") {
        encoding.kind = Kind::kSymbols;
        encoding.symbol_table = *keep(page, nb::borrow(given[1]));
    } else if (kind == "compressed") {
        encoding.kind = Kind::kCompressed;
        encoding.compression = to_choice<Compression>(given[1]);
        child(given[2]);
    } else if (kind == "packed") {
        encoding.kind = Kind::kPacked;
        for (nb::handle each : nb::cast<nb::tuple>(given[1])) {
            encoding.field_bits.push_back(to_count(nb::cast<nb::tuple>(each)[0]));
            child(nb::cast<nb::tuple>(each)[1]);
        }
    } else if (kind != "nulls") {
        throw nb::value_error("an encoding that is not known");
    }
    return encoding;
}

// (bits of offsets or 0, levels, whether there are empty lists, items of fixed-size lists or 1), from the inside
std::vector<NestedLayer> to_layers(const nb::list& given) {
    std::vector<NestedLayer> layers;
    for (nb::handle each : given) {
        const auto layer = nb::cast<nb::tuple>(each);
        if (nb::len(layer) != 4) throw nb::type_error("a layer has four parts");
        layers.push_back({to_count(layer[0]), to_count(layer[1]), nb::cast<bool>(layer[2]), to_count(layer[3])});
    }
    return layers;
}

EntryRules rules_of(const std::vector<NestedLayer>& layers) {
    EntryRules rules{0, 0};
    for (const NestedLayer& layer : layers) {
        if (rules.max_rep == 0 && !layer.is_list()) rules.max_visible += layer.num_levels;
        rules.max_rep += layer.is_list();
    }
    return rules;
}

BoundPage* nest(nb::object values, const nb::list& given, std::unique_ptr<const LevelSource> levels, int64_t num_rows,
                bool are_null, std::unique_ptr<BoundPage> page, nb::object tested = nb::none()) {
    std::vector<NestedLayer> layers = to_layers(given);
    int64_t items_per_row = 1;
    for (const NestedLayer& layer : layers) items_per_row = multiply(items_per_row, layer.list_size);
    if (items_per_row != 1) {
        if (items_per_row == 0 || num_rows % items_per_row != 0) fail(num_rows, " rows of ", items_per_row, " items");
        num_rows /= items_per_row;
        levels = std::make_unique<LevelsOfItems>(std::move(levels), items_per_row, num_rows);
    }
    const PageReader* tests = tested.is_none() ? nullptr : nb::cast<const BoundPage&>(tested).reader.get();
    page->reader = std::make_unique<NestedReader>(*nb::cast<const BoundPage&>(values).reader, std::move(layers),
                                                  std::move(levels), num_rows, are_null, tests);
    page->values = nb::make_tuple(values, tested);
    return page.release();
}

// Around values of which no level is known: structs that are never NULL.
BoundPage* nested_plain(nb::object values, const nb::list& layers, Count num_rows) {
    auto levels = std::make_unique<NoLevels>(*nb::cast<const BoundPage&>(values).reader);
    return nest(std::move(values), layers, std::move(levels), num_rows, false, std::make_unique<BoundPage>());
}

BoundPage* nested_chunks(nb::object values, const nb::list& layers, Count num_rows, nb::object table,
                         const Levels& repetition, const Levels& definition, const std::optional<InputBuffer>& starts,
                         const std::optional<InputBuffer>& ends, nb::object tested) {
    auto page = std::make_unique<BoundPage>();
    const auto encoding = [](const Levels& given) {
        return given ? std::optional(LevelEncoding(given->first, given->second)) : std::nullopt;
    };
    auto levels = std::make_unique<ChunkLevels>(nb::cast<const ChunkTable&>(table), rules_of(to_layers(layers)),
                                                encoding(repetition), encoding(definition),
                                                starts ? Bytes(*starts) : Bytes(), ends ? Bytes(*ends) : Bytes());
    page->table = std::move(table);
    return nest(std::move(values), layers, std::move(levels), num_rows, false, std::move(page), std::move(tested));
}

BoundPage* nested_stored(nb::object values, const nb::list& layers, Count num_rows, nb::object repetition,
                         nb::object definition, bool are_null) {
    auto page = std::make_unique<BoundPage>();
    const std::optional<Bytes> rep = keep(*page, repetition);
    auto levels = std::make_unique<StoredLevels>(rules_of(to_layers(layers)), num_rows, rep, keep(*page, definition));
    return nest(std::move(values), layers, std::move(levels), num_rows, are_null, std::move(page));
}

// (bits of repetition and definition levels, bytes of a value, bytes of a length)
using Entry = std::tuple<Count, Count, Count, Count>;

ZipShape to_entries(const Entry& given, const EntryRules& rules) {
    const auto& [bits_rep, bits_def, value_bytes, length_bytes] = given;
    return {bits_rep, bits_def, rules.max_visible, value_bytes, length_bytes};
}

BoundPage* nested_zip(const nb::tuple& shape, const nb::tuple& encoding, const nb::list& layers, Count num_rows,
                      const Entry& entry, Count num_bytes, const nb::object& row_starts, nb::object tested) {
    const EntryRules rules = rules_of(to_layers(layers));
    const ZipShape entries = to_entries(entry, rules);
    auto values = std::make_unique<BoundPage>();
    CellEncoding cells = to_encoding(encoding, *values);
    values->reader = std::make_unique<ZipComposites>(to_shape(shape), entries, std::move(cells), num_bytes);
    auto levels = std::make_unique<ZipLevels>(rules, entries, to_row_starts(row_starts, num_rows));
    return nest(nb::cast(values.release(), nb::rv_policy::take_ownership), layers, std::move(levels), num_rows, false,
                std::make_unique<BoundPage>(), std::move(tested));
}

BoundPage* chunk_composites(nb::object table, const nb::tuple& shape, const nb::tuple& encoding,
                            const std::optional<Choice<Compression>>& compression) {
    auto page = std::make_unique<BoundPage>();
    CellEncoding cells = to_encoding(encoding, *page);
    std::optional<Compression> scheme;
    if (compression) scheme = *compression;
    page->reader = std::make_unique<ChunkComposites>(to_shape(shape), nb::cast<const ChunkTable&>(table),
                                                     std::move(cells), scheme);
    page->table = std::move(table);
    return page.release();
}

BoundPage* repeated_composites(const nb::tuple& shape, Count num_rows, nb::object value) {
    auto page = std::make_unique<BoundPage>();
    page->reader = std::make_unique<RepeatedComposites>(to_shape(shape), num_rows, keep(*page, value));
    return page.release();
}

}  // namespace

void bind_nested_pages(nb::class_<BoundPage>& page) {
    constexpr auto policy = nb::rv_policy::take_ownership;
    page.def_static("nested_plain", nested_plain, policy, "values"_a, "layers"_a, nb::kw_only(), "num_rows"_a)
        .def_static("nested_chunks", nested_chunks, policy, "values"_a, "layers"_a, nb::kw_only(), "num_rows"_a,
                    "table"_a, "repetition"_a.none(), "definition"_a.none(), "starts_through"_a.none(),
                    "ends_through"_a.none(), "tested"_a.none() = nb::none())
        .def_static("nested_stored", nested_stored, policy, "values"_a, "layers"_a, nb::kw_only(), "num_rows"_a,
                    "repetition"_a.none(), "definition"_a.none(), "are_null"_a)
        .def_static("nested_zip", nested_zip, policy, "shape"_a, "encoding"_a, "layers"_a, nb::kw_only(), "num_rows"_a,
                    "entry"_a, "num_bytes"_a, "row_starts"_a.none(), "tested"_a.none() = nb::none())
        .def_static("chunk_composites", chunk_composites, policy, "table"_a, "shape"_a, "encoding"_a, nb::kw_only(),
                    "compression"_a.none())
        .def_static("repeated_composites", repeated_composites, policy, "shape"_a, "num_rows"_a, "value"_a.none());
}

}  // namespace lance
