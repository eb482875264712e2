// Binds the kernels on plain arrays: blocks, dictionaries, lists, full-zip entries, selections.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/python.h"
#include "encodings/decode.h"
#include "layouts/entries.h"
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
        "unpack_block",
        [](const InputBuffer& packed, Count word_bits, Count num_values, const OutputBuffer& out) {
            Unlocked unlocked;
            unpack_block(packed, word_bits, num_values, out);
        },
        "packed"_a, "word_bits"_a, "num_values"_a, "out"_a);
    m.def(
        "rle_block",
        [](const InputBuffer& block, Count value_bits, Count num_values, const OutputBuffer& out) {
            Unlocked unlocked;
            rle_block(block, value_bits, num_values, out);
        },
        "block"_a, "value_bits"_a, "num_values"_a, "out"_a);
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

template <class View, class Held>
std::optional<View> view(const std::optional<Held>& buffer) {
    if (!buffer) return std::nullopt;
    return View(*buffer);
}

uint16_t to_level(int64_t value) {
    if (value > UINT16_MAX) fail("level ", value, " is not a u16");
    return static_cast<uint16_t>(value);
}

void bind_lists(nb::module_& m) {
    m.def(
        "list_layer",
        [](const InputBuffer& rep, const std::optional<InputBuffer>& def, Count num_entries, Count base,
           Count empty_level, Count max_slot_level, const OutputBuffer& out_offsets, Count out_offset_bits,
           const std::optional<OutputBuffer>& out_validity, const OutputBuffer& out_rep,
           const std::optional<OutputBuffer>& out_def) {
            Unlocked unlocked;
            const ListLayer layer{to_level(base), to_level(empty_level), to_level(max_slot_level)};
            const ListLayerResult done =
                list_layer(rep, view<Bytes>(def), num_entries, layer, out_offsets, out_offset_bits,
                           view<MutableBytes>(out_validity), out_rep, view<MutableBytes>(out_def));
            return std::tuple(done.num_slots, done.num_kept, done.num_valid);
        },
        "rep"_a, "def_"_a.none(), "num_entries"_a, "base"_a, "empty_level"_a, "max_slot_level"_a, "out_offsets"_a,
        "out_offset_bits"_a, "out_validity"_a.none(), "out_rep"_a, "out_def"_a.none());
    m.def(
        "item_layer",
        [](const InputBuffer& def, Count num_entries, Count max_slot_level, Count base, const OutputBuffer& out) {
            Unlocked unlocked;
            const ItemLayerResult done = item_layer(def, num_entries, max_slot_level, base, out);
            return std::pair(done.num_slots, done.num_valid);
        },
        "def_"_a, "num_entries"_a, "max_slot_level"_a, "base"_a, "out"_a);
    m.def(
        "select_rows",
        [](const InputBuffer& rep, const std::optional<InputBuffer>& def, Count num_entries, Count max_rep,
           Count max_visible, Count skip_rows, Count num_rows) {
            Unlocked unlocked;
            const RowSelection selection =
                select_rows(rep, view<Bytes>(def), num_entries, max_rep, max_visible, skip_rows, num_rows);
            return std::tuple(selection.entry_start, selection.entry_end, selection.items_before, selection.num_items);
        },
        "rep"_a, "def_"_a.none(), "num_entries"_a, "max_rep"_a, "max_visible"_a, "skip_rows"_a, "num_rows"_a);
}

void bind_zip(nb::module_& m) {
    m.def(
        "unzip_scan",
        [](const InputBuffer& data, Count start, Count end, Count bits_rep, Count bits_def, Count max_visible,
           Count value_bytes, Count length_bytes) {
            Unlocked unlocked;
            const ZipShape shape(bits_rep, bits_def, max_visible, value_bytes, length_bytes);
            const ZipSize size = unzip_scan(data, start, end, shape);
            return std::tuple(size.num_entries, size.num_visible, size.num_bytes);
        },
        "data"_a, "start"_a, "end"_a, "bits_rep"_a, "bits_def"_a, "max_visible"_a, "value_bytes"_a, "length_bytes"_a);
    m.def(
        "unzip",
        [](const InputBuffer& data, Count start, Count end, Count bits_rep, Count bits_def, Count max_visible,
           Count value_bytes, Count length_bytes, const std::optional<OutputBuffer>& out_rep,
           const std::optional<OutputBuffer>& out_def, const std::optional<OutputBuffer>& out_offsets,
           Count out_offset_bits, const OutputBuffer& out_values) {
            Unlocked unlocked;
            const ZipShape shape(bits_rep, bits_def, max_visible, value_bytes, length_bytes);
            const ZipOutput out{view<MutableBytes>(out_rep), view<MutableBytes>(out_def),
                                view<MutableBytes>(out_offsets), out_values};
            const ZipSize size = unzip(data, start, end, shape, out, out_offset_bits);
            return std::tuple(size.num_entries, size.num_visible, size.num_bytes);
        },
        "data"_a, "start"_a, "end"_a, "bits_rep"_a, "bits_def"_a, "max_visible"_a, "value_bytes"_a, "length_bytes"_a,
        "out_rep"_a.none(), "out_def"_a.none(), "out_offsets"_a.none(), "out_offset_bits"_a, "out_values"_a);
    m.def(
        "unzip_fixed",
        [](const InputBuffer& data, Count data_start, const InputBuffer& ranges, Count num_rows, Count bits_def,
           Count value_bytes, const OutputBuffer& out_values, const std::optional<OutputBuffer>& out_def) {
            Unlocked unlocked;
            unzip_fixed(data, data_start, Ranges(ranges, num_rows), bits_def, value_bytes, out_values,
                        view<MutableBytes>(out_def));
        },
        "data"_a, "data_start"_a, "ranges"_a, "num_rows"_a, "bits_def"_a, "value_bytes"_a, "out_values"_a,
        "out_def"_a.none());
    m.def(
        "unzip_row_offsets",
        [](const InputBuffer& data, const InputBuffer& row_starts, Count num_rows, Count bits_def, Count length_bytes,
           const std::optional<OutputBuffer>& out_def, const OutputBuffer& out_offsets, Count out_offset_bits) {
            Unlocked unlocked;
            return unzip_row_offsets(data, row_starts, num_rows, bits_def, length_bytes, view<MutableBytes>(out_def),
                                     out_offsets, out_offset_bits);
        },
        "data"_a, "row_starts"_a, "num_rows"_a, "bits_def"_a, "length_bytes"_a, "out_def"_a.none(), "out_offsets"_a,
        "out_offset_bits"_a);
    m.def(
        "unzip_row_bytes",
        [](const InputBuffer& data, const InputBuffer& row_starts, Count num_rows, Count bits_def, Count length_bytes,
           const OutputBuffer& out) {
            Unlocked unlocked;
            return unzip_row_bytes(data, row_starts, num_rows, bits_def, length_bytes, out);
        },
        "data"_a, "row_starts"_a, "num_rows"_a, "bits_def"_a, "length_bytes"_a, "out"_a);
}

}  // namespace

void bind_arrays(nb::module_& m) {
    bind_blocks(m);
    bind_gather(m);
    bind_lists(m);
    bind_zip(m);
}

}  // namespace lance
