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
    m.def(
        "unpack",
        [](const InputBuffer& packed, Count word_bits, Count num_bits, Count num_values, const OutputBuffer& out) {
            Unlocked unlocked;
            unpack(packed, word_bits, num_bits, num_values, out);
        },
        "packed"_a, "word_bits"_a, "num_bits"_a, "num_values"_a, "out"_a);
    m.def(
        "lz4_size",
        [](const InputBuffer& block) {
            Unlocked unlocked;
            return lz4_size(block);
        },
        "block"_a);
}

void bind_gather(nb::module_& m) {
    m.def(
        "check_indices",
        [](const InputBuffer& indices, Count index_bits, Count num_indices, Count num_items) {
            Unlocked unlocked;
            check_indices(indices, index_bits, num_indices, num_items);
        },
        "indices"_a, "index_bits"_a, "num_indices"_a, "num_items"_a);
    m.def(
        "gather_fixed",
        [](const InputBuffer& indices, Count index_bits, Count num_indices, const InputBuffer& items, Count num_items,
           Count width_bytes, const OutputBuffer& out) {
            Unlocked unlocked;
            gather_fixed(indices, index_bits, num_indices, items, num_items, width_bytes, out);
        },
        "indices"_a, "index_bits"_a, "num_indices"_a, "items"_a, "num_items"_a, "width_bytes"_a, "out"_a);
    m.def(
        "gather_variable_offsets",
        [](const InputBuffer& indices, Count index_bits, Count num_indices, const InputBuffer& item_offsets,
           Count item_offset_bits, Count num_items, const OutputBuffer& out_offsets, Count out_offset_bits) {
            Unlocked unlocked;
            return gather_variable_offsets(indices, index_bits, num_indices, item_offsets, item_offset_bits, num_items,
                                           out_offsets, out_offset_bits);
        },
        "indices"_a, "index_bits"_a, "num_indices"_a, "item_offsets"_a, "item_offset_bits"_a, "num_items"_a,
        "out_offsets"_a, "out_offset_bits"_a);
    m.def(
        "gather_variable_bytes",
        [](const InputBuffer& indices, Count index_bits, Count num_indices, const InputBuffer& item_offsets,
           Count item_offset_bits, Count num_items, const InputBuffer& items_data, const OutputBuffer& out) {
            Unlocked unlocked;
            return gather_variable_bytes(indices, index_bits, num_indices, item_offsets, item_offset_bits, num_items,
                                         items_data, out);
        },
        "indices"_a, "index_bits"_a, "num_indices"_a, "item_offsets"_a, "item_offset_bits"_a, "num_items"_a,
        "items_data"_a, "out"_a);
    m.def(
        "gather_ranges",
        [](const InputBuffer& data, const InputBuffer& starts, const InputBuffer& lengths, const OutputBuffer& out) {
            Unlocked unlocked;
            return gather_ranges(data, starts, lengths, out);
        },
        "data"_a, "starts"_a, "lengths"_a, "out"_a);
    m.def(
        "scatter_ranges",
        [](const InputBuffer& data, const InputBuffer& starts, const InputBuffer& lengths,
           const InputBuffer& out_starts, const OutputBuffer& out) {
            Unlocked unlocked;
            scatter_ranges(data, starts, lengths, out_starts, out);
        },
        "data"_a, "starts"_a, "lengths"_a, "out_starts"_a, "out"_a);
    m.def(
        "mask_to_ranges",
        [](const InputBuffer& bitmap, Count bit_offset, Count num_bits) {
            std::vector<int64_t> bounds;
            {
                Unlocked unlocked;
                bounds = mask_to_ranges(bitmap, bit_offset, num_bits);
            }
            const size_t num_ranges = bounds.size() / 2;
            return to_numpy(std::move(bounds), {num_ranges, 2});
        },
        "bitmap"_a, "bit_offset"_a, "num_bits"_a);
    m.def(
        "contains",
        [](const InputBuffer& offsets, Count offset_bits, Count num_strings, const InputBuffer& data,
           const InputBuffer& text, const OutputBuffer& out) {
            Unlocked unlocked;
            contains(offsets, offset_bits, num_strings, data, text, out);
        },
        "offsets"_a, "offset_bits"_a, "num_strings"_a, "data"_a, "text"_a, "out"_a);
    m.def(
        "narrow_decimal",
        [](const InputBuffer& values, Count num_values, const OutputBuffer& out) {
            Unlocked unlocked;
            return narrow_decimal(values, num_values, out);
        },
        "values"_a, "num_values"_a, "out"_a);
}

}  // namespace

void bind_arrays(nb::module_& m) {
    bind_blocks(m);
    bind_gather(m);
}

}  // namespace lance
