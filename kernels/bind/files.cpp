// Binds the kernels that map files, read small ones and ends of them, and what holders share.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <system_error>

#include "bind/bound_pages.h"
#include "bind/python.h"
#include "file/column_opener.h"
#include "file/file_extents.h"
#include "file/small_files.h"
#include "system/file_mapping.h"
#include "system/process_share.h"

using namespace nanobind::literals;

namespace lance {

namespace {

nb::list to_list(HeldArrays& columns) {
    nb::list list;
    for (const ArrowArray& array : std::exchange(columns.arrays, {})) {
        list.append(nb::cast(new BoundArray(array), nb::rv_policy::take_ownership));
    }
    return list;
}

std::vector<ColumnType> to_types(nb::list given) {
    std::vector<ColumnType> types;
    for (nb::handle each : given) types.push_back(nb::cast<const ColumnType&>(each));
    return types;
}

// Moves pages into a column, except those that are open: another thread may be reading them. Returns their memory.
int64_t adopt(BoundColumn& column, OpenColumn opened) {
    if (opened.row_starts != column.reader.row_starts()) fail("pages of another column");
    int64_t num_bytes = 0;
    for (OpenPage& page : opened.pages) {
        if (column.reader.is_open(page.number)) continue;
        num_bytes += page.num_bytes;
        column.reader.open(page.number, *page.reader, page.start, page.end);
        const int64_t number = page.number;
        column.stored[number] = &column.own_pages.emplace(number, std::move(page)).first->second;
    }
    return num_bytes;
}

// parts: (start, bytes) of the file; columns: (index, type, the reader of earlier calls or None)
nb::tuple open_columns(nb::list parts, const InputBuffer& table, Count file_size, Count num_rows, nb::list given,
                       const InputBuffer& rows, bool are_plain) {
    KnownBytes known(file_size);
    std::vector<InputBuffer> held;
    for (nb::handle each : parts) {
        const auto part = nb::cast<nb::tuple>(each);
        held.push_back(hold(part[1]));
        known.add(to_count(part[0]), held.back());
    }
    struct Wanted {
        int64_t index;
        const ColumnType* type;
        bool is_open;
        std::optional<OpenColumn> opened;
    };
    const Ranges ranges(rows, num_rows);
    std::vector<Wanted> columns;
    columns.reserve(nb::len(given));
    for (nb::handle each : given) {
        const auto column = nb::cast<nb::tuple>(each);
        const bool open = !column[2].is_none() && nb::cast<const BoundColumn&>(column[2]).are_stored(ranges, false);
        columns.push_back({to_count(column[0]), &nb::cast<const ColumnType&>(column[1]), open, std::nullopt});
    }
    ColumnOpener opener(known, ColumnTable(table), num_rows);
    {
        Unlocked unlocked;
        for (Wanted& column : columns) {
            if (!column.is_open) column.opened = opener.open(column.index, *column.type, ranges);
        }
    }
    nb::list readers;
    int64_t num_bytes = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
        const auto column = nb::cast<nb::tuple>(given[i]);
        if (columns[i].is_open) {
            const bool fits = !are_plain || nb::cast<const BoundColumn&>(column[2]).are_stored(ranges, true);
            readers.append(fits ? nb::object(column[2]) : nb::none());
            continue;
        }
        if (!columns[i].opened) {
            readers.append(nb::none());
            continue;
        }
        OpenColumn& opened = *columns[i].opened;
        nb::object reader = column[2].is_none()
                                ? nb::cast(new BoundColumn(as_bytes(opened.row_starts)), nb::rv_policy::take_ownership)
                                : nb::object(column[2]);
        auto& bound = nb::cast<BoundColumn&>(reader);
        if (std::ranges::any_of(opened.pages, &OpenPage::refers_to_head)) {
            for (nb::handle each : parts) bound.pages.push_back(nb::borrow(each));
        }
        num_bytes += adopt(bound, std::move(opened));
        // A page of it may have been opened before, for tests of NULL alone.
        if (bound.are_stored(ranges, are_plain)) {
            readers.append(std::move(reader));
        } else {
            readers.append(nb::none());
        }
    }
    return nb::make_tuple(readers, opener.missing(), num_bytes);
}

}  // namespace

void bind_files(nb::module_& m) {
    nb::class_<ProcessShare>(m, "ProcessShare")
        .def(nb::init<>())
        .def(
            "take", [](ProcessShare& self, Count number, Count most) { return self.take(number, most); }, "number"_a,
            "most"_a)
        .def_static("total", [] { return num_shared.load(); });
    nb::class_<FileMapping>(m, "FileMapping")
        .def(
            "__init__",
            [](FileMapping* self, Count descriptor, Count num_bytes) {
                try {
                    new (self) FileMapping(static_cast<int>(static_cast<int64_t>(descriptor)), num_bytes);
                } catch (const std::system_error& error) {
                    errno = error.code().value();
                    PyErr_SetFromErrno(PyExc_OSError);
                    throw nb::python_error();
                }
            },
            "descriptor"_a, "num_bytes"_a)
        .def_prop_ro("address", [](const FileMapping& self) { return reinterpret_cast<uintptr_t>(self.data()); })
        .def_prop_ro("num_bytes", &FileMapping::num_bytes)
        .def("give_back", [](const FileMapping& self) {
            Unlocked unlocked;
            self.give_back();
        });
    m.def("open_columns", open_columns, "parts"_a, "table"_a, "file_size"_a, "num_rows"_a, "columns"_a, "rows"_a,
          "are_plain"_a);
    m.def(
        "read_small_files",
        [](nb::list paths, const InputBuffer& num_rows, nb::list types, const InputBuffer& column_indices) {
            std::vector<std::string> encoded;
            for (nb::handle path : paths) encoded.push_back(to_path(path));
            const std::vector<ColumnType> wanted = to_types(types);
            SmallFiles result =
                without_lock([&] { return read_small_files(encoded, num_rows, wanted, column_indices); });
            nb::list read;
            for (const bool each : result.read) read.append(nb::bool_(each));
            return nb::make_tuple(read, to_list(result.columns));
        },
        "paths"_a, "num_rows"_a, "types"_a, "column_indices"_a);
    m.def(
        "read_tail",
        [](nb::handle given, Count most_bytes) -> nb::object {
            const std::string path = to_path(given);
            const int64_t most = most_bytes;
            const FileTail tail = without_lock([&] { return FileTail(path, most); });
            if (!tail.file_size()) return nb::none();
            const auto size = static_cast<Py_ssize_t>(tail.num_bytes());
            const auto content = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, size));
            if (!content.is_valid()) throw nb::python_error();
            // Nobody else has the bytes yet.
            auto* to = reinterpret_cast<uint8_t*>(PyBytes_AsString(content.ptr()));
            if (!without_lock([&] { return tail.read(to); })) return nb::none();
            return nb::make_tuple(*tail.file_size(), content);
        },
        "path"_a, "most_bytes"_a);
}

}  // namespace lance
