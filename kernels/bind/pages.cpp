// Binds the readers of pages and columns, and their tests.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/bound_pages.h"
#include "bind/shared_numbers.h"
#include "layouts/constant_reader.h"
#include "layouts/number_runs_reader.h"
#include "predicates/zone_bounds.h"

using namespace nanobind::literals;

namespace lance {

namespace {

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

// (bits, whether values are strings, whether some may be NULL, items: their number, bits, offsets or None, and bytes)
nb::object tested_values(const BoundColumn& column, Count page) {
    const OpenPage* open = column.find(page);
    if (open == nullptr || !open->values) return nb::none();
    const TestedValues& values = *open->values;
    const nb::object items = values.items ? nb::object(to_tuple(*values.items)) : nb::none();
    return nb::make_tuple(values.bits, values.are_strings, values.has_nulls, items);
}

}  // namespace

void bind_pages(nb::module_& m) {
    nb::class_<BoundPage> page(m, "PageReader");
    bind_array_pages(page);
    bind_stored_pages(m, page);
    page.def_prop_ro("takes_extents", [](const BoundPage& self) { return self.get()->takes_extents(); })
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
        .def(nb::init<const InputBuffer&>(), "row_starts"_a)
        .def("row_starts", [](const BoundColumn& self) { return to_numpy(self.reader.row_starts()); })
        .def_prop_ro("lends", [](const BoundColumn& self) { return self.reader.lends(); })
        .def("opened",
             [](const BoundColumn& self) {
                 std::vector<std::pair<int64_t, PageForm>> pages;
                 for (const auto& [number, page] : self.stored) pages.emplace_back(number, page->form);
                 return pages;
             })
        .def("tested_values", tested_values, "page"_a)
        .def(
            "open",
            [](BoundColumn& self, Count page, nb::object reader, Count start, Count end) {
                // Another thread may be reading an open page.
                if (self.reader.is_open(page)) return;
                const auto& bound = nb::cast<const BoundPage&>(reader);
                if (bound.get() == nullptr) fail("a page without a reader");
                self.reader.open(page, *bound.get(), start, end);
                if (bound.stored) self.stored[page] = &*bound.stored;
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
