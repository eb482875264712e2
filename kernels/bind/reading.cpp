// Binds the functions that read a batch with open pages or columns, and the bytes for them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <deque>
#include <memory>
#include <utility>

#include "arrow/arrow_node.h"
#include "bind/bound_pages.h"
#include "file/batch_reader.h"
#include "file/mapped_rows.h"
#include "file/scattered_parts.h"
#include "system/buffers.h"

using namespace nanobind::literals;

namespace lance {

namespace {

// The columns of a batch as given by Python; holds the buffers.
class BatchArguments {
  public:
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

    // (..., position), or without it if it is 0
    std::vector<ColumnRows> columns(nb::handle list) {
        std::vector<ColumnRows> result;
        for (nb::handle each : list) {
            result.push_back(column_rows(each));
            if (nb::len(each) > 3) result.back().position = to_count(nb::cast<nb::tuple>(each)[3]);
        }
        return result;
    }

    // (..., test)
    std::vector<TestedRows> tests(nb::handle list) {
        std::vector<TestedRows> result;
        for (nb::handle each : list) {
            const auto& test = nb::cast<const BoundColumnTest&>(nb::cast<nb::tuple>(each)[3]);
            result.push_back({column_rows(each), &test.tests});
        }
        return result;
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
    nb::object failure = nb::none();
    try {
        num_left = without_lock([&] { return read(arrays); });
    } catch (const PageFailure& error) {
        failure = to_failure(error);
    }
    nb::list made;
    for (const ArrowArray& array : arrays) made.append(nb::cast(new BoundArray(array), nb::rv_policy::take_ownership));
    return nb::make_tuple(num_left, made, failure);
}

// Columns of equal length as one array, which Python imports in one step.
BoundArray* to_batch(nb::list columns) {
    if (nb::len(columns) == 0) fail("a batch without columns");
    std::vector<ArrowArray> arrays;
    for (nb::handle each : columns) {
        arrays.push_back(std::exchange(nb::cast<BoundArray&>(each).array, ArrowArray{}));
    }
    const int64_t num_rows = arrays.front().length;
    return new BoundArray(around(std::move(arrays), {num_rows, 0, {}, std::nullopt, 0}));
}

nb::tuple read_rows_of(nb::list tests, nb::list columns, std::optional<OutputBuffer> flags) {
    BatchArguments arguments;
    const FilterRows filter{arguments.tests(tests), {}};
    const std::vector<ColumnRows> wanted = arguments.columns(columns);
    return run([&](std::vector<ArrowArray>& arrays) {
        return read_columns(filter, all_of(filter.tests.size()), wanted, flags, arrays);
    });
}

// The parts of each column, or None for a column read in another way; and the damage: (column, message).
nb::tuple read_scattered_rows(nb::handle path, nb::list columns) {
    const std::string encoded = to_path(path);
    BatchArguments arguments;
    std::vector<WantedRows> wanted;
    for (nb::handle each : columns) wanted.push_back(arguments.wanted_rows(nb::cast<nb::tuple>(each)));
    std::optional<ScatteredParts> read;
    try {
        read = without_lock([&] { return read_scattered(encoded, wanted); });
    } catch (const PageFailure& failure) {
        return nb::make_tuple(nb::none(), nb::make_tuple(failure.column, failure.what()));
    }
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

// files: (content, path or None, columns, rows). Returns the columns as one array, and the bytes that were touched in
// each file: (start, end); None if a page is not open or damaged.
nb::object read_mapped_rows(nb::list files) {
    std::vector<MappedRows> wanted;
    std::vector<InputBuffer> held;
    for (nb::handle each : files) {
        const auto file = nb::cast<nb::tuple>(each);
        held.push_back(hold(file[0]));
        MappedRows& rows = wanted.emplace_back();
        rows.content = held.back();
        if (!file[1].is_none()) rows.path = to_path(file[1]);
        held.push_back(hold(file[3]));
        for (nb::handle column : nb::cast<nb::sequence>(file[2])) {
            if (column.is_none()) return nb::none();
            const auto& bound = nb::cast<const BoundColumn&>(column);
            rows.rows = Ranges(held.back(), bound.reader.num_rows());
            // While the lock is held, no other thread opens a page.
            if (!bound.are_stored(rows.rows, true)) return nb::none();
            rows.columns.push_back(&bound.reader);
        }
    }
    std::optional<JoinedRows> read;
    try {
        read.emplace(without_lock([&] { return read_mapped(wanted); }));
    } catch (const std::invalid_argument&) {
        // Reading the single files reports the error.
    }
    if (!read || read->columns.arrays.empty()) return nb::none();
    nb::list touched;
    for (const std::vector<int64_t>& bounds : read->touched) {
        nb::list ranges;
        for (size_t i = 0; i < bounds.size(); i += 2) ranges.append(nb::make_tuple(bounds[i], bounds[i + 1]));
        touched.append(std::move(ranges));
    }
    const int64_t num_rows = read->columns.arrays.front().length;
    const ArrowArray joined = around(std::exchange(read->columns.arrays, {}), {num_rows, 0, {}, std::nullopt, 0});
    return nb::make_tuple(nb::cast(new BoundArray(joined), nb::rv_policy::take_ownership), touched);
}

}  // namespace

void bind_reading(nb::module_& m) {
    m.def("read_scattered", read_scattered_rows, "path"_a, "columns"_a);
    m.def("to_batch", to_batch, "columns"_a, nb::rv_policy::take_ownership);
    m.def("read_mapped", read_mapped_rows, "files"_a);
    m.def("read_rows", read_rows_of, "tests"_a, "columns"_a, "flags"_a.none());
    m.def("keep_buffers", [](Count most_bytes) { keep_buffers(most_bytes); }, "most_bytes"_a);
    m.def("kept_buffers", []() {
        const KeptBuffers counts = kept_buffers();
        return std::pair(counts.num_kept, counts.num_taken);
    });
    m.def("forget_buffers", forget_buffers);
}

}  // namespace lance
