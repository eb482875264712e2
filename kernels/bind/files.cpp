// Binds the kernels that map files, read small ones and ends of them, and what holders share.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <system_error>

#include "bind/bound_pages.h"
#include "bind/python.h"
#include "bind/shared_numbers.h"
#include "file/file_extents.h"
#include "file/small_files.h"
#include "system/file_mapping.h"
#include "system/process_share.h"

using namespace nanobind::literals;

namespace lance {

namespace {

std::string to_string(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::list to_list(const std::unordered_set<std::string>& encodings) {
    nb::list list;
    for (const std::string& each : encodings) list.append(nb::bytes(each.data(), each.size()));
    return list;
}

// None if there is no array.
nb::list to_list(HeldArrays& columns) {
    nb::list list;
    for (const ArrowArray& array : std::exchange(columns.arrays, {})) {
        if (array.release == nullptr) {
            list.append(nb::none());
        } else {
            list.append(nb::cast(new BoundArray(array), nb::rv_policy::take_ownership));
        }
    }
    return list;
}

std::vector<ColumnFormat> to_formats(const std::vector<std::pair<bool, int64_t>>& formats) {
    std::vector<ColumnFormat> wanted;
    for (const auto& [variable, bits] : formats) wanted.push_back({variable, bits});
    return wanted;
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
    nb::class_<FlatPages>(m, "FlatPages")
        .def(nb::init<>())
        .def(
            "add",
            [](FlatPages& self, const nb::bytes& encoding, Count num_items, Choice<ValueCodec> codec, Count bits,
               bool large, bool has_def, Count num_buffers,
               std::optional<std::pair<Choice<LevelCodec>, Count>> definition) {
                const ValueCodec values = codec;
                if (values > ValueCodec::kVariable) fail("codec ", static_cast<int>(values), " needs more than chunks");
                std::optional<LevelEncoding> levels;
                if (definition) levels.emplace(definition->first, definition->second);
                self.add(to_string(encoding),
                         FlatPage{{large, false, has_def, num_buffers}, num_items, values, bits, levels});
            },
            "encoding"_a, nb::kw_only(), "num_items"_a, "codec"_a, "bits"_a, "large"_a, "has_def"_a, "num_buffers"_a,
            "definition"_a = nb::none())
        .def(
            "add_constant",
            [](FlatPages& self, const nb::bytes& encoding, std::optional<nb::bytes> value) {
                ConstantPage page;
                if (value) page.value = to_string(*value);
                self.add(to_string(encoding), std::move(page));
            },
            "encoding"_a, "value"_a.none())
        .def(
            "add_other", [](FlatPages& self, const nb::bytes& encoding) { self.add(to_string(encoding), {}); },
            "encoding"_a);
    m.def(
        "read_small_files",
        [](const FlatPages& pages, nb::list paths, const InputBuffer& num_rows,
           const std::vector<std::pair<bool, int64_t>>& formats, const InputBuffer& column_indices) {
            std::optional<SmallFiles> result;
            std::vector<std::string> encoded;
            for (nb::handle path : paths) encoded.push_back(to_path(path));
            {
                Unlocked unlocked;
                result.emplace(read_small_files(pages, encoded, num_rows, to_formats(formats), column_indices));
            }
            nb::list read;
            for (const bool each : result->read) read.append(nb::bool_(each));
            return nb::make_tuple(read, to_list(result->unknown), to_list(result->columns));
        },
        "pages"_a, "paths"_a, "num_rows"_a, "formats"_a, "column_indices"_a);
    m.def(
        "read_tail",
        [](nb::handle given, Count most_bytes) -> nb::object {
            const std::string path = to_path(given);
            const int64_t most = most_bytes;
            std::optional<FileTail> tail;
            {
                Unlocked unlocked;
                tail.emplace(path, most);
            }
            if (!tail->file_size()) return nb::none();
            const auto size = static_cast<Py_ssize_t>(tail->num_bytes());
            const auto content = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, size));
            if (!content.is_valid()) throw nb::python_error();
            // Nobody else has the bytes yet.
            auto* to = reinterpret_cast<uint8_t*>(PyBytes_AsString(content.ptr()));
            bool is_whole = false;
            {
                Unlocked unlocked;
                is_whole = tail->read(to);
            }
            if (!is_whole) return nb::none();
            return nb::make_tuple(*tail->file_size(), content);
        },
        "path"_a, "most_bytes"_a);
    m.def(
        "read_many_columns",
        [](const FlatPages& pages, const InputBuffer& file, Count num_rows,
           const std::vector<std::pair<bool, int64_t>>& formats, const InputBuffer& column_indices) {
            const int64_t wanted_rows = num_rows;
            std::optional<ManyColumns> result;
            {
                Unlocked unlocked;
                result.emplace(read_many_columns(pages, file, wanted_rows, to_formats(formats), column_indices));
            }
            return nb::make_tuple(to_list(result->unknown), to_list(result->columns));
        },
        "pages"_a, "file"_a, "num_rows"_a, "formats"_a, "column_indices"_a);
}

}  // namespace lance
