// Binds the readers of pages, and the functions that read a batch with them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <deque>
#include <memory>

#include "batch_reader.h"
#include "bound_pages.h"
#include "buffers.h"
#include "constant_reader.h"
#include "full_zip_reader.h"
#include "mini_block_reader.h"
#include "nested_reader.h"
#include "scattered_parts.h"
#include "zone_bounds.h"

using namespace nanobind::literals;

namespace lance {

namespace {

PageCodec to_codec(int64_t number) {
    if (number > static_cast<int64_t>(PageCodec::kOther)) fail("value codec ", number, " is not 0 to 6");
    return static_cast<PageCodec>(number);
}

using Levels = std::optional<std::pair<Count, Count>>;
using Items = std::optional<nb::tuple>;

BoundPage* constant(Count num_rows, std::pair<bool, Count> format, std::optional<Count> list_size, nb::object value) {
    auto page = std::make_unique<BoundPage>();
    std::optional<Bytes> bytes;
    if (!value.is_none()) {
        page->buffers.push_back(hold(value));
        bytes = page->buffers.back();
    }
    page->reader = std::make_unique<ConstantReader>(to_format(format, list_size), num_rows, bytes);
    return page.release();
}

// Nothing as row_starts: all values have value_bytes; otherwise each has a length of length_bytes.
BoundPage* full_zip(Count num_rows, Count bits_def, bool has_nulls, Count value_bytes, Count length_bytes,
                    nb::object row_starts, nb::object symbol_table, std::pair<bool, Count> format,
                    std::optional<Count> list_size) {
    auto page = std::make_unique<BoundPage>();
    const auto keep = [&](nb::object buffer) -> std::optional<Bytes> {
        if (buffer.is_none()) return std::nullopt;
        page->buffers.push_back(hold(buffer));
        return page->buffers.back();
    };
    const FullZipValues values{has_nulls,    bits_def, value_bytes, length_bytes, keep(symbol_table).value_or(Bytes()),
                               to_format(format, list_size)};
    page->reader = std::make_unique<FullZipReader>(values, num_rows, keep(row_starts));
    return page.release();
}

BoundPage* mini_block(nb::object table, Count codec, Count bits, const Levels& definition,
                nb::object symbol_table, const Items& items, std::pair<bool, Count> format,
                std::optional<Count> list_size, bool keeps_indices) {
    auto page = std::make_unique<BoundPage>();
    MiniBlockValues values{to_codec(codec), bits, std::nullopt, {}, std::nullopt, to_format(format, list_size), keeps_indices};
    if (definition) values.definition.emplace(definition->first, definition->second);
    if (!symbol_table.is_none()) {
        page->buffers.push_back(hold(symbol_table));
        values.symbol_table = page->buffers.back();
    }
    if (items) {
        DictionaryItems found{to_count((*items)[0]), to_count((*items)[1]), !(*items)[2].is_none(), {}, {}};
        if (found.variable) {
            page->buffers.push_back(hold((*items)[2]));
            found.offsets = page->buffers.back();
        }
        page->buffers.push_back(hold((*items)[3]));
        found.data = page->buffers.back();
        values.dictionary = found;
    }
    page->reader = std::make_unique<MiniBlockReader>(nb::cast<const ChunkTable&>(table), values);
    page->table = std::move(table);
    return page.release();
}

// (bits of offsets or 0, levels, whether there are empty lists), from the inside
std::vector<NestedLayer> to_layers(const nb::list& given) {
    std::vector<NestedLayer> layers;
    for (nb::handle each : given) {
        const auto layer = nb::cast<nb::tuple>(each);
        layers.push_back({to_count(layer[0]), to_count(layer[1]), nb::cast<bool>(layer[2])});
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

BoundPage* nest(nb::object values, const nb::list& layers, std::unique_ptr<const LevelSource> levels, int64_t num_rows,
                bool are_null, std::unique_ptr<BoundPage> page) {
    page->reader = std::make_unique<NestedReader>(*nb::cast<const BoundPage&>(values).reader, to_layers(layers),
                                                  std::move(levels), num_rows, are_null);
    page->values = std::move(values);
    return page.release();
}

// Around values of which no level is known: structs that are never NULL.
BoundPage* nested_plain(nb::object values, const nb::list& layers, Count num_rows) {
    auto levels = std::make_unique<NoLevels>(*nb::cast<const BoundPage&>(values).reader);
    return nest(std::move(values), layers, std::move(levels), num_rows, false, std::make_unique<BoundPage>());
}

BoundPage* nested_chunks(nb::object values, const nb::list& layers, Count num_rows, nb::object table,
                         const Levels& repetition, const Levels& definition, const std::optional<InputBuffer>& starts,
                         const std::optional<InputBuffer>& ends) {
    auto page = std::make_unique<BoundPage>();
    const auto encoding = [](const Levels& given) {
        return given ? std::optional(LevelEncoding(given->first, given->second)) : std::nullopt;
    };
    auto levels = std::make_unique<ChunkLevels>(nb::cast<const ChunkTable&>(table), rules_of(to_layers(layers)),
                                                encoding(repetition), encoding(definition),
                                                starts ? Bytes(*starts) : Bytes(), ends ? Bytes(*ends) : Bytes());
    page->table = std::move(table);
    return nest(std::move(values), layers, std::move(levels), num_rows, false, std::move(page));
}

BoundPage* nested_stored(nb::object values, const nb::list& layers, Count num_rows, nb::object repetition,
                         nb::object definition, bool are_null) {
    auto page = std::make_unique<BoundPage>();
    const auto keep = [&](nb::object buffer) -> std::optional<Bytes> {
        if (buffer.is_none()) return std::nullopt;
        page->buffers.push_back(hold(buffer));
        return page->buffers.back();
    };
    const std::optional<Bytes> rep = keep(repetition);
    auto levels = std::make_unique<StoredLevels>(rules_of(to_layers(layers)), num_rows, rep, keep(definition));
    return nest(std::move(values), layers, std::move(levels), num_rows, are_null, std::move(page));
}

// What Python has said of the columns of a batch; holds the buffers while it lives.
class BatchArguments {
  public:
    // (page, ranges, data, data_start, (first_chunk, data, offsets) of decompressed buffers or None, ...)
    PagePart part(const nb::tuple& given) {
        const auto& page = nb::cast<const BoundPage&>(given[0]);
        const Ranges rows(bytes(given[1]), page.reader->num_rows());
        PageBytes found{bytes(given[2]), to_count(given[3]), std::nullopt};
        if (!given[4].is_none()) {
            const auto replaced = nb::cast<nb::tuple>(given[4]);
            found.replaced = ReplacedBuffers{to_count(replaced[0]), bytes(replaced[1]), bytes(replaced[2])};
        }
        return {page.reader.get(), rows, found, 0};
    }

    // (position, parts)
    std::vector<ColumnParts> columns(nb::handle list) {
        std::vector<ColumnParts> found;
        for (nb::handle column : list) {
            const auto given = nb::cast<nb::tuple>(column);
            ColumnParts& parts = found.emplace_back();
            parts.position = to_count(given[0]);
            for (nb::handle each : given[1]) {
                parts.parts.push_back(part(nb::cast<nb::tuple>(each)));
                parts.parts.back().number = parts.parts.size() - 1;
            }
        }
        return found;
    }

    // (..., test, position)
    std::vector<TestedColumn> tests(nb::handle list) {
        std::vector<TestedColumn> found;
        for (nb::handle column : list) {
            TestedColumn& parts = found.emplace_back();
            for (nb::handle each : column) {
                const auto given = nb::cast<nb::tuple>(each);
                parts.push_back({part(given), &nb::cast<const BoundTest&>(given[5]).test, to_count(given[6])});
                parts.back().part.number = parts.size() - 1;
            }
        }
        return found;
    }

    // (column, rows, ...)
    WantedRows wanted_rows(const nb::tuple& given) {
        const auto& column = nb::cast<const BoundColumn&>(given[0]);
        return {&column.reader, Ranges(bytes(given[1]), column.reader.num_rows())};
    }

    // (column, rows, parts of its pages)
    ColumnRows column_rows(nb::handle object) {
        const auto given = nb::cast<nb::tuple>(object);
        const auto [column, rows] = wanted_rows(given);
        if (nb::isinstance<BoundParts>(given[2])) {
            held_.push_back(given[2]);
            return {column, rows, &nb::cast<const BoundParts&>(given[2]).parts};
        }
        parts_.push_back(to_parts(given[2], [this](nb::handle buffer) { return bytes(buffer); }));
        return {column, rows, &parts_.back()};
    }

    std::vector<ColumnRows> file_columns(nb::handle list) {
        std::vector<ColumnRows> found;
        for (nb::handle each : list) found.push_back(column_rows(each));
        return found;
    }

    // (..., test)
    std::vector<TestedRows> file_tests(nb::handle list) {
        std::vector<TestedRows> found;
        for (nb::handle each : list) {
            const auto& test = nb::cast<const BoundColumnTest&>(nb::cast<nb::tuple>(each)[3]);
            found.push_back({column_rows(each), &test.tests});
        }
        return found;
    }

  private:
    Bytes bytes(nb::handle object) {
        buffers_.push_back(hold(object));
        return buffers_.back();
    }

    std::vector<InputBuffer> buffers_;
    std::vector<nb::object> held_;
    std::deque<FileParts> parts_;
};

nb::tuple to_failure(const PageFailure& failure) {
    return nb::make_tuple(failure.in_test, failure.column, failure.number, failure.what());
}

// Calls read(arrays) without the GIL; it returns the number of rows left.
template <class Read>
nb::tuple run(Read read) {
    std::vector<ArrowArray> arrays;
    int64_t num_left = 0;
    std::optional<PageFailure> failure;
    {
        Unlocked unlocked;
        try {
            num_left = read(arrays);
        } catch (const PageFailure& error) {
            failure = error;
        }
    }
    nb::list made;
    for (const ArrowArray& array : arrays) made.append(nb::cast(new BoundArray(array), nb::rv_policy::take_ownership));
    return nb::make_tuple(num_left, made, failure ? nb::object(to_failure(*failure)) : nb::none());
}

nb::tuple read_batch(nb::list tests, nb::list columns, std::optional<OutputBuffer> flags) {
    BatchArguments arguments;
    const FilterParts filter{arguments.tests(tests), {}};
    const std::vector<ColumnParts> wanted = arguments.columns(columns);
    std::optional<MutableBytes> left;
    if (flags) left = *flags;
    return run([&](std::vector<ArrowArray>& arrays) { return read_parts(filter, all_of(filter.tests.size()), wanted, left, arrays); });
}

nb::tuple read_rows_of(nb::list tests, nb::list columns, std::optional<OutputBuffer> flags) {
    BatchArguments arguments;
    const FilterRows filter{arguments.file_tests(tests), {}};
    const std::vector<ColumnRows> wanted = arguments.file_columns(columns);
    std::optional<MutableBytes> left;
    if (flags) left = *flags;
    return run([&](std::vector<ArrowArray>& arrays) { return read_columns(filter, all_of(filter.tests.size()), wanted, left, arrays); });
}

// The parts of each column, or None for one that is read in another way; and what is damaged: (column, message).
nb::tuple read_scattered_rows(nb::handle path, nb::list columns) {
    const std::string encoded = to_path(path);
    BatchArguments arguments;
    std::vector<WantedRows> wanted;
    for (nb::handle each : columns) wanted.push_back(arguments.wanted_rows(nb::cast<nb::tuple>(each)));
    std::optional<ScatteredParts> read;
    std::optional<PageFailure> failure;
    {
        Unlocked unlocked;
        try {
            read = read_scattered(encoded, wanted);
        } catch (const PageFailure& error) {
            failure = error;
        }
    }
    if (failure) return nb::make_tuple(nb::none(), nb::make_tuple(failure->column, failure->what()));
    if (!read) return nb::make_tuple(nb::none(), nb::none());
    const auto buffer = std::make_shared<PooledBuffer>(std::move(read->buffer));
    nb::list made;
    for (std::optional<FileParts>& parts : read->columns) {
        if (parts) {
            made.append(nb::cast(new BoundParts{std::move(*parts), buffer}, nb::rv_policy::take_ownership));
        } else {
            made.append(nb::none());
        }
    }
    return nb::make_tuple(made, nb::none());
}

}  // namespace

void bind_pages(nb::module_& m) {
    nb::class_<BoundPage> page(m, "PageReader");
    bind_array_pages(page);
    page.def_static("mini_block", mini_block, nb::rv_policy::take_ownership, "table"_a, nb::kw_only(), "codec"_a,
                    "bits"_a, "definition"_a.none(), "symbol_table"_a.none(), "items"_a.none(), "format"_a,
                    "list_size"_a.none() = nb::none(), "keeps_indices"_a)
        .def_static("full_zip", full_zip, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "bits_def"_a,
                    "has_nulls"_a, "value_bytes"_a, "length_bytes"_a, "row_starts"_a.none(), "symbol_table"_a.none(),
                    "format"_a, "list_size"_a.none() = nb::none())
        .def_static("nested_plain", nested_plain, nb::rv_policy::take_ownership, "values"_a, "layers"_a, nb::kw_only(),
                    "num_rows"_a)
        .def_static("nested_chunks", nested_chunks, nb::rv_policy::take_ownership, "values"_a, "layers"_a, nb::kw_only(),
                    "num_rows"_a, "table"_a, "repetition"_a.none(), "definition"_a.none(), "starts_through"_a.none(),
                    "ends_through"_a.none())
        .def_static("nested_stored", nested_stored, nb::rv_policy::take_ownership, "values"_a, "layers"_a, nb::kw_only(),
                    "num_rows"_a, "repetition"_a.none(), "definition"_a.none(), "are_null"_a)
        .def_static("constant", constant, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "format"_a,
                    "list_size"_a.none() = nb::none(), "value"_a.none());
    nb::class_<BoundTest>(m, "PageTest")
        .def_static(
            "range",
            [](Count order, InputBuffer low, InputBuffer high, bool inside) {
                if (order > 2) fail("order ", int64_t{order}, " is not 0 to 2");
                const KeyRange keys{static_cast<ValueOrder>(int64_t{order}), low, high, inside};
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
        .def(
            "open",
            [](BoundColumn& self, Count page, nb::object reader, Count start, Count end) {
                self.reader.open(page, *nb::cast<const BoundPage&>(reader).reader, start, end);
                self.pages.push_back(std::move(reader));
            },
            "page"_a, "reader"_a, "start"_a, "end"_a)
        .def(
            "pages_of",
            [](const BoundColumn& self, Count first_row, Count end_row) { return self.reader.pages_of(first_row, end_row); },
            "first_row"_a, "end_row"_a)
        .def(
            "spans",
            [](const BoundColumn& self, const InputBuffer& rows) {
                std::vector<int64_t> spans = self.reader.spans(Ranges(rows, self.reader.num_rows()));
                const size_t num_spans = spans.size() / 3;
                return to_numpy(std::move(spans), {num_spans, 3});
            },
            "rows"_a)
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
    m.def("read_scattered", read_scattered_rows, "path"_a, "columns"_a);
    m.def("read_rows", read_rows_of, "tests"_a, "columns"_a, "flags"_a.none());
    m.def("read_batch", read_batch, "tests"_a, "columns"_a, "flags"_a.none());
    m.def("keep_buffers", [](Count most_bytes) { keep_buffers(most_bytes); }, "most_bytes"_a);
    m.def("kept_buffers", []() {
        const KeptBuffers found = kept_buffers();
        return std::pair(found.num_kept, found.num_taken);
    });
    m.def("forget_buffers", forget_buffers);
}

}  // namespace lance
