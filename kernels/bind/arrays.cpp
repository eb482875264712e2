// Binds the kernels on plain arrays: blocks, dictionaries, selections.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/python.h"
#include "encodings/decode.h"
#include "predicates/substrings.h"

using namespace nanobind::literals;

namespace lance {

namespace {

void bind_blocks(nb::module_& m) {
    m.def("unpack", kernel(unpack), "packed"_a, "word_bits"_a, "num_bits"_a, "num_values"_a, "out"_a);
    m.def("lz4_size", kernel(lz4_size), "block"_a);
}

void bind_gather(nb::module_& m) {
    m.def("check_indices", kernel(check_indices), "indices"_a, "index_bits"_a, "num_indices"_a, "num_items"_a);
    m.def("gather_fixed", kernel(gather_fixed), "indices"_a, "index_bits"_a, "num_indices"_a, "items"_a, "num_items"_a,
          "width_bytes"_a, "out"_a);
    m.def("gather_variable_offsets", kernel(gather_variable_offsets), "indices"_a, "index_bits"_a, "num_indices"_a,
          "item_offsets"_a, "item_offset_bits"_a, "num_items"_a, "out_offsets"_a, "out_offset_bits"_a);
    m.def("gather_variable_bytes", kernel(gather_variable_bytes), "indices"_a, "index_bits"_a, "num_indices"_a,
          "item_offsets"_a, "item_offset_bits"_a, "num_items"_a, "items_data"_a, "out"_a);
    m.def("scatter_ranges", kernel(scatter_ranges), "data"_a, "starts"_a, "lengths"_a, "out_starts"_a, "out"_a);
    m.def(
        "mask_to_ranges",
        [](const InputBuffer& bitmap, Count bit_offset, Count num_bits) {
            std::vector<int64_t> bounds = without_lock([&] { return mask_to_ranges(bitmap, bit_offset, num_bits); });
            const size_t num_ranges = bounds.size() / 2;
            return to_numpy(std::move(bounds), {num_ranges, 2});
        },
        "bitmap"_a, "bit_offset"_a, "num_bits"_a);
    m.def("contains", kernel(contains), "offsets"_a, "offset_bits"_a, "num_strings"_a, "data"_a, "text"_a, "out"_a);
    m.def("narrow_decimal", kernel(narrow_decimal), "values"_a, "num_values"_a, "out"_a);
}

}  // namespace

void bind_arrays(nb::module_& m) {
    bind_blocks(m);
    bind_gather(m);
}

}  // namespace lance
