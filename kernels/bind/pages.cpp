// Binds the readers of pages and columns, and their tests.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/bound_pages.h"
#include "bind/shared_numbers.h"
#include "layouts/compressed_chunks.h"
#include "layouts/constant_reader.h"
#include "layouts/full_zip_reader.h"
#include "layouts/mini_block_reader.h"
#include "layouts/number_runs_reader.h"
#include "predicates/zone_bounds.h"

using namespace nanobind::literals;

namespace lance {

namespace {

using Levels = std::optional<std::pair<Choice<LevelCodec>, Count>>;
using Scheme = std::optional<Choice<Compression>>;
using Items = std::optional<nb::tuple>;

// columns: (column, ranges of its rows)
nb::list spans(nb::list columns) {
    nb::list result;
    for (nb::handle each : columns) {
        const auto given = nb::cast<nb::tuple>(each);
        const ColumnReader& column = nb::cast<const BoundColumn&>(given[0]).reader;
        const InputBuffer rows = hold(given[1]);
        const std::vector<int64_t> parts = column.spans(Ranges(rows, column.num_rows()));
        nb::list of_column;
        for (size_t i = 0; i < parts.size(); i += 3)
            of_column.append(nb::make_tuple(parts[i], parts[i + 1], parts[i + 2]));
        result.append(std::move(of_column));
    }
    return result;
}

BoundPage* constant(Count num_rows, std::pair<bool, Count> format, std::optional<Count> list_size, nb::object value,
                    nb::object validity) {
    auto page = std::make_unique<BoundPage>();
    const std::optional<Bytes> bytes = keep(*page, value);
    page->reader =
        std::make_unique<ConstantReader>(to_format(format, list_size), num_rows, bytes, keep(*page, validity));
    return page.release();
}

BoundPage* number_runs(Count num_rows, const InputBuffer& starts, const InputBuffer& values, Count step) {
    auto page = std::make_unique<BoundPage>();
    page->reader = std::make_unique<NumberRunsReader>(num_rows, starts, values, step);
    return page.release();
}

// Nothing as row_starts: all values have value_bytes; otherwise each has a length of length_bytes.
BoundPage* full_zip(Count num_rows, Count bits_def, Count num_levels, Count value_bytes, Count length_bytes,
                    nb::object row_starts, nb::object symbol_table, std::pair<bool, Count> format,
                    std::optional<Count> list_size, const Scheme& compression) {
    auto page = std::make_unique<BoundPage>();
    FullZipValues values{bits_def,
                         num_levels,
                         value_bytes,
                         length_bytes,
                         keep(*page, symbol_table).value_or(Bytes()),
                         to_format(format, list_size),
                         std::nullopt};
    if (compression) values.compression = *compression;
    std::optional<std::vector<int64_t>> starts = to_row_starts(row_starts, num_rows);
    page->reader = std::make_unique<FullZipReader>(values, num_rows, std::move(starts));
    return page.release();
}

BoundPage* mini_block(nb::object table, Choice<ValueCodec> codec, Count bits, const Levels& definition,
                      nb::object symbol_table, const Items& items, std::pair<bool, Count> format,
                      std::optional<Count> list_size, bool keeps_indices, const Scheme& compression) {
    auto page = std::make_unique<BoundPage>();
    MiniBlockValues values{codec, bits, std::nullopt, {}, std::nullopt, to_format(format, list_size), keeps_indices};
    if (definition) values.definition.emplace(definition->first, definition->second);
    if (!symbol_table.is_none()) {
        page->buffers.push_back(hold(symbol_table));
        values.symbol_table = page->buffers.back();
    }
    if (items) {
        DictionaryItems dictionary{to_count((*items)[0]), to_count((*items)[1]), !(*items)[2].is_none(), {}, {}};
        if (dictionary.variable) {
            page->buffers.push_back(hold((*items)[2]));
            dictionary.offsets = page->buffers.back();
        }
        page->buffers.push_back(hold((*items)[3]));
        dictionary.data = page->buffers.back();
        values.dictionary = dictionary;
    }
    const auto& chunks = nb::cast<const ChunkTable&>(table);
    page->reader = std::make_unique<MiniBlockReader>(chunks, values);
    if (compression) {
        page->reader = std::make_unique<CompressedChunksReader>(chunks, *compression, std::move(page->reader));
    }
    page->table = std::move(table);
    return page.release();
}

// (bits, whether values are strings, whether some may be NULL, items: their number, bits, offsets or None, and bytes)
nb::object tested_values(const BoundColumn& column, Count page) {
    const auto found = column.own_pages.find(page);
    if (found == column.own_pages.end()) return nb::none();
    const TestedValues& values = found->second.values;
    const auto copy = [](Bytes bytes) { return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
    nb::object items = nb::none();
    if (const auto& given = values.items) {
        const nb::object offsets = given->variable ? nb::object(copy(given->offsets)) : nb::none();
        items = nb::make_tuple(given->num_items, given->bits, offsets, copy(given->data));
    }
    return nb::make_tuple(values.bits, values.are_strings, values.has_nulls, items);
}

}  // namespace

void bind_pages(nb::module_& m) {
    nb::class_<BoundPage> page(m, "PageReader");
    bind_array_pages(page);
    bind_nested_pages(page);
    page.def_prop_ro("takes_extents", [](const BoundPage& self) { return self.reader->takes_extents(); });
    page.def_static("mini_block", mini_block, nb::rv_policy::take_ownership, "table"_a, nb::kw_only(), "codec"_a,
                    "bits"_a, "definition"_a.none(), "symbol_table"_a.none(), "items"_a.none(), "format"_a,
                    "list_size"_a.none() = nb::none(), "keeps_indices"_a, "compression"_a.none() = nb::none())
        .def_static("full_zip", full_zip, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "bits_def"_a,
                    "num_levels"_a, "value_bytes"_a, "length_bytes"_a, "row_starts"_a.none(), "symbol_table"_a.none(),
                    "format"_a, "list_size"_a.none() = nb::none(), "compression"_a.none() = nb::none())
        .def_static("constant", constant, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "format"_a,
                    "list_size"_a.none() = nb::none(), "value"_a.none(), "validity"_a.none() = nb::none())
        .def_static("number_runs", number_runs, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "starts"_a,
                    "values"_a, "step"_a);
    nb::class_<BoundTest>(m, "PageTest")
        .def_static(
            "range",
            [](Choice<ValueOrder> order, InputBuffer low, InputBuffer high, bool inside) {
                const KeyRange keys{order, low, high, inside};
                BoundTest test(RangeTest{keys});
                test.buffers.push_back(std::move(low));
                test.buffers.push_back(std::move(high));
                return test;
            },
            "order"_a, "low"_a, "high"_a, "inside"_a)
        .def_static(
            "items",
            [](InputBuffer answers) {
                BoundTest test(ItemsTest{answers});
                test.buffers.push_back(std::move(answers));
                return test;
            },
            "answers"_a)
        .def_static(
            "strings",
            [](InputBuffer low, std::optional<InputBuffer> end, bool inside) {
                StringTest strings{low, std::nullopt, inside};
                if (end) strings.end = *end;
                BoundTest test(strings);
                test.buffers.push_back(std::move(low));
                if (end) test.buffers.push_back(std::move(*end));
                return test;
            },
            "low"_a, "end"_a.none(), "inside"_a)
        .def_static("validity", [](bool is_valid) { return BoundTest(ValidityTest{is_valid}); }, "is_valid"_a);
    nb::class_<BoundArray>(m, "NativeArray").def_prop_ro("address", [](const BoundArray& self) {
        return reinterpret_cast<uintptr_t>(&self.array);
    });
    nb::class_<BoundColumn>(m, "ColumnReader")
        .def(
            "__init__", [](BoundColumn* self, const InputBuffer& row_starts) { new (self) BoundColumn(row_starts); },
            "row_starts"_a)
        .def("row_starts",
             [](const BoundColumn& self) {
                 std::vector<int64_t> starts = self.reader.row_starts();
                 const size_t num_starts = starts.size();
                 return to_numpy(std::move(starts), {num_starts});
             })
        .def_prop_ro("lends", [](const BoundColumn& self) { return self.reader.lends(); })
        .def("opened",
             [](const BoundColumn& self) {
                 std::vector<int64_t> numbers;
                 for (const auto& [number, page] : self.own_pages) numbers.push_back(number);
                 return numbers;
             })
        .def("tested_values", tested_values, "page"_a)
        .def(
            "open",
            [](BoundColumn& self, Count page, nb::object reader, Count start, Count end) {
                // Another thread may be reading an open page.
                if (self.reader.is_open(page)) return;
                self.reader.open(page, *nb::cast<const BoundPage&>(reader).reader, start, end);
                self.pages.push_back(std::move(reader));
            },
            "page"_a, "reader"_a, "start"_a, "end"_a)
        .def(
            "pages_of",
            [](const BoundColumn& self, Count first_row, Count end_row) {
                return self.reader.pages_of(first_row, end_row);
            },
            "first_row"_a, "end_row"_a)
        .def(
            "scattered_spans",
            [](const BoundColumn& self, const InputBuffer& rows) {
                std::vector<int64_t> spans = self.reader.scattered_spans(Ranges(rows, self.reader.num_rows()));
                const size_t num_spans = spans.size() / 3;
                return to_numpy(std::move(spans), {num_spans, 3});
            },
            "rows"_a)
        .def(
            "observe",
            [](const BoundColumn& self, const InputBuffer& rows, nb::object given, ZoneBounds& zones) {
                const Ranges ranges(rows, self.reader.num_rows());
                std::vector<InputBuffer> held;
                const FileParts parts = to_parts(given, [&](nb::handle buffer) -> Bytes {
                    held.push_back(hold(buffer));
                    return held.back();
                });
                Unlocked unlocked;
                ZoneObserver observer(zones);
                self.reader.observe(ranges, parts, observer);
                observer.finish();
            },
            "rows"_a, "parts"_a, "zones"_a);
    m.def("spans", spans, "columns"_a);
    nb::class_<BoundParts>(m, "FileParts");
    nb::class_<BoundColumnTest>(m, "ColumnTest")
        .def(nb::init<Count>(), "num_pages"_a)
        .def(
            "set",
            [](BoundColumnTest& self, Count page, nb::object test) {
                if (page >= static_cast<int64_t>(self.tests.size())) fail("no page ", int64_t{page});
                PageAnswer& answer = self.tests[static_cast<size_t>(int64_t{page})];
                if (nb::isinstance<nb::bool_>(test)) {
                    answer = {nb::cast<bool>(test) ? PageAnswer::kPass : PageAnswer::kFail, nullptr};
                    return;
                }
                answer = {PageAnswer::kTest, &nb::cast<const BoundTest&>(test).test};
                self.held.push_back(std::move(test));
            },
            "page"_a, "test"_a);
}

}  // namespace lance
