// Binds the kernel that reads small data files.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python.h"
#include "small_files.h"

using namespace nanobind::literals;

namespace lance {

namespace {

using ByteArray = nb::ndarray<nb::numpy, uint8_t>;

ByteArray to_bytes_array(std::vector<uint8_t> values) {
    auto* owned = new std::vector<uint8_t>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
    const size_t size = owned->size();
    return ByteArray(owned->data(), 1, &size, owner);
}

std::string to_string(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::list to_columns(SmallFiles& found) {
    nb::list columns;
    for (SmallColumn& column : found.columns) {
        columns.append(nb::make_tuple(to_bytes_array(std::move(column.values)), to_bytes_array(std::move(column.offsets)),
                                      to_bytes_array(std::move(column.validity)), column.num_valid));
    }
    return columns;
}

}  // namespace

void bind_files(nb::module_& m) {
    nb::class_<FlatPages>(m, "FlatPages")
        .def(nb::init<>())
        .def(
            "add",
            [](FlatPages& self, const nb::bytes& encoding, Count num_items, Count codec, Count bits, bool large,
               bool has_def, std::optional<std::pair<Count, Count>> definition) {
                if (codec > 2) fail("value codec ", int64_t{codec}, " is not 0 to 2");
                std::optional<LevelEncoding> levels;
                if (definition) levels.emplace(definition->first, definition->second);
                self.add(to_string(encoding), FlatPage{{large, false, has_def, 1},
                                                       num_items,
                                                       static_cast<ValueCodec>(int64_t{codec}),
                                                       bits,
                                                       levels});
            },
            "encoding"_a, nb::kw_only(), "num_items"_a, "codec"_a, "bits"_a, "large"_a, "has_def"_a,
            "definition"_a = nb::none())
        .def("add_other", [](FlatPages& self, const nb::bytes& encoding) { self.add(to_string(encoding), std::nullopt); },
             "encoding"_a);
    m.def(
        "read_small_files",
        [](const FlatPages& pages, const std::vector<std::string>& paths, const InputBuffer& num_rows,
           const std::vector<std::pair<bool, int64_t>>& formats, const InputBuffer& column_indices) {
            SmallFiles found;
            {
                Unlocked unlocked;
                std::vector<ValueFormat> wanted;
                for (const auto& [variable, bits] : formats) wanted.push_back({variable, bits});
                found = read_small_files(pages, paths, num_rows, wanted, column_indices);
            }
            nb::list unknown;
            for (const std::string& encoding : found.unknown) unknown.append(nb::bytes(encoding.data(), encoding.size()));
            nb::list read;
            for (const bool each : found.read) read.append(nb::bool_(each));
            return nb::make_tuple(read, unknown, to_columns(found));
        },
        "pages"_a, "paths"_a, "num_rows"_a, "formats"_a, "column_indices"_a);
}

}  // namespace lance
