// Binds the readers of pages without levels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <memory>

#include "bind/bound_pages.h"
#include "layouts/array_reader.h"

using namespace nanobind::literals;

namespace lance {

namespace {

using Place = std::pair<Count, Count>;

StoredBuffer to_buffer(const Place& pair) { return {pair.first, pair.second}; }

BoundPage* make(const ArrayReader::Content& content, int64_t num_rows, int64_t size, const ColumnFormat& format,
                std::unique_ptr<BoundPage> page = std::make_unique<BoundPage>()) {
    page->reader = std::make_unique<ArrayReader>(format, num_rows, size, content);
    return page.release();
}

BoundPage* array_values(Count num_rows, Count size, const Place& values, const std::optional<Place>& validity,
                        std::pair<bool, Count> format, const std::optional<Count>& list_size) {
    StoredValues stored{to_buffer(values), std::nullopt};
    if (validity) stored.validity = to_buffer(*validity);
    return make(stored, num_rows, size, to_format(format, list_size));
}

BoundPage* array_strings(Count num_rows, Count size, const Place& ends, const Place& bytes, Count null_adjustment,
                         std::pair<bool, Count> format) {
    const StoredStrings stored{to_buffer(ends), to_buffer(bytes), null_adjustment};
    return make(stored, num_rows, size, to_format(format, std::nullopt));
}

BoundPage* array_keys(Count num_rows, Count size, const Place& keys, Count key_bits, Count num_items, Count offset_bits,
                      nb::object offsets, nb::object data, bool first_is_null, std::pair<bool, Count> format) {
    auto page = std::make_unique<BoundPage>();
    page->buffers.push_back(hold(offsets));
    page->buffers.push_back(hold(data));
    const StoredKeys stored{to_buffer(keys),  key_bits,         num_items,    offset_bits,
                            page->buffers[0], page->buffers[1], first_is_null};
    return make(stored, num_rows, size, to_format(format, std::nullopt), std::move(page));
}

}  // namespace

void bind_array_pages(nb::class_<BoundPage>& page) {
    page.def_static("array_values", array_values, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "size"_a,
                    "values"_a, "validity"_a.none(), "format"_a, "list_size"_a.none() = nb::none())
        .def_static("array_strings", array_strings, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(),
                    "size"_a, "ends"_a, "bytes"_a, "null_adjustment"_a, "format"_a)
        .def_static("array_keys", array_keys, nb::rv_policy::take_ownership, "num_rows"_a, nb::kw_only(), "size"_a,
                    "keys"_a, "key_bits"_a, "num_items"_a, "offset_bits"_a, "offsets"_a, "data"_a, "first_is_null"_a,
                    "format"_a);
}

}  // namespace lance
