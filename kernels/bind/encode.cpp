// Binds the kernels that write pages.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/python.h"
#include "encodings/encode.h"
#include "layouts/number_pages.h"
#include "layouts/zip.h"

using namespace nanobind::literals;

namespace lance {

namespace {

using Held = std::pair<InputBuffer, InputBuffer>;

std::optional<Parts> parts(const std::optional<Held>& held) {
    if (!held) return std::nullopt;
    return Parts(held->first, held->second);
}

void bind_chunks_out(nb::module_& m) {
    m.def(
        "assemble_chunks",
        [](const InputBuffer& chunk_starts, const InputBuffer& num_levels, const std::optional<Held>& rep,
           const std::optional<Held>& def, const std::vector<Held>& values, bool large, const OutputBuffer& out) {
            Unlocked unlocked;
            ChunkParts all{parts(rep), parts(def), {}};
            for (const Held& held : values) all.values.emplace_back(held.first, held.second);
            assemble_chunks(chunk_starts, num_levels, all, large, out);
        },
        "chunk_starts"_a, "num_levels"_a, "rep"_a.none(), "def_"_a.none(), "values"_a, "large"_a, "out"_a);
    m.def(
        "variable_chunks",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data,
           const InputBuffer& item_starts, const InputBuffer& out_starts, const OutputBuffer& out) {
            Unlocked unlocked;
            return variable_chunks(offsets, offset_bits, num_values, data, item_starts, out_starts, out);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "item_starts"_a, "out_starts"_a, "out"_a);
}

void bind_fixed_width(nb::module_& m) {
    m.def(
        "group_widths",
        [](const InputBuffer& values, Count word_bits, Count num_values, const InputBuffer& item_starts,
           const OutputBuffer& out) {
            Unlocked unlocked;
            group_widths(values, word_bits, num_values, item_starts, out);
        },
        "values"_a, "word_bits"_a, "num_values"_a, "item_starts"_a, "out"_a);
    m.def(
        "pack_inline",
        [](const InputBuffer& values, Count word_bits, Count num_values, const InputBuffer& item_starts,
           const InputBuffer& widths, const OutputBuffer& out) {
            Unlocked unlocked;
            pack_inline(values, word_bits, num_values, item_starts, widths, out);
        },
        "values"_a, "word_bits"_a, "num_values"_a, "item_starts"_a, "widths"_a, "out"_a);
    m.def(
        "pack",
        [](const InputBuffer& values, Count word_bits, Count num_bits, Count num_values, const InputBuffer& item_starts,
           const InputBuffer& out_starts, const OutputBuffer& out) {
            Unlocked unlocked;
            pack(values, word_bits, num_bits, num_values, item_starts, out_starts, out);
        },
        "values"_a, "word_bits"_a, "num_bits"_a, "num_values"_a, "item_starts"_a, "out_starts"_a, "out"_a);
    m.def(
        "align_bits",
        [](const InputBuffer& bits, Count bits_per_value, Count num_values, const InputBuffer& item_starts,
           const InputBuffer& out_starts, const OutputBuffer& out) {
            Unlocked unlocked;
            align_bits(bits, bits_per_value, num_values, item_starts, out_starts, out);
        },
        "bits"_a, "bits_per_value"_a, "num_values"_a, "item_starts"_a, "out_starts"_a, "out"_a);
    m.def(
        "split_bytes",
        [](const InputBuffer& values, Count width, Count num_values, const InputBuffer& item_starts,
           const OutputBuffer& out) {
            Unlocked unlocked;
            split_bytes(values, width, num_values, item_starts, out);
        },
        "values"_a, "width"_a, "num_values"_a, "item_starts"_a, "out"_a);
}

void bind_numbers(nb::module_& m) {
    m.def(
        "number_facts",
        [](const std::vector<InputBuffer>& pages, Count word_bits, Count num_values) {
            std::vector<int64_t> facts;
            {
                Unlocked unlocked;
                for (const InputBuffer& values : pages) {
                    const NumberFacts page_facts = number_facts(values, word_bits, num_values);
                    facts.insert(facts.end(), {page_facts.num_changes, page_facts.packed_bytes});
                }
            }
            return to_numpy(std::move(facts), {pages.size(), 2});
        },
        "pages"_a, "word_bits"_a, "num_values"_a);
    m.def(
        "distinct_numbers",
        [](const std::vector<InputBuffer>& pages, Count width, Count num_values, Count num_tried) {
            std::vector<int64_t> counts;
            {
                Unlocked unlocked;
                for (const InputBuffer& values : pages) {
                    counts.push_back(sample_fixed(values, width, num_values, 1, num_tried));
                }
            }
            return to_numpy(std::move(counts));
        },
        "pages"_a, "width"_a, "num_values"_a, "num_tried"_a);
    m.def(
        "number_pages",
        [](const std::vector<InputBuffer>& pages, Count word_bits, Count num_values, Count log2_items, bool is_packed,
           bool large) {
            std::vector<NumberPage> made;
            {
                Unlocked unlocked;
                for (const InputBuffer& values : pages) {
                    made.push_back(number_page(values, word_bits, num_values, log2_items, is_packed, large));
                }
            }
            nb::list pairs;
            for (const NumberPage& page : made) {
                pairs.append(nb::make_tuple(nb::bytes(page.words.data(), page.words.size()),
                                            nb::bytes(page.chunks.data(), page.chunks.size())));
            }
            return pairs;
        },
        "pages"_a, "word_bits"_a, "num_values"_a, "log2_items"_a, "is_packed"_a, "large"_a);
}

void bind_runs(nb::module_& m) {
    m.def(
        "count_changes",
        [](const InputBuffer& values, Count value_bits, Count num_values) {
            Unlocked unlocked;
            return count_changes(values, value_bits, num_values);
        },
        "values"_a, "value_bits"_a, "num_values"_a);
    m.def(
        "count_runs",
        [](const InputBuffer& values, Count value_bits, Count num_values, const InputBuffer& item_starts,
           const OutputBuffer& out) {
            Unlocked unlocked;
            count_runs(values, value_bits, num_values, item_starts, out);
        },
        "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a, "out"_a);
    m.def(
        "encode_runs",
        [](const InputBuffer& values, Count value_bits, Count num_values, const InputBuffer& item_starts,
           const OutputBuffer& out_values, const OutputBuffer& out_lengths) {
            Unlocked unlocked;
            encode_runs(values, value_bits, num_values, item_starts, out_values, out_lengths);
        },
        "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a, "out_values"_a, "out_lengths"_a);
    m.def(
        "encode_run_blocks",
        [](const InputBuffer& values, Count value_bits, Count num_values, const InputBuffer& item_starts,
           const InputBuffer& run_counts, const OutputBuffer& out) {
            Unlocked unlocked;
            encode_run_blocks(values, value_bits, num_values, item_starts, run_counts, out);
        },
        "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a, "run_counts"_a, "out"_a);
}

void bind_dictionaries(nb::module_& m) {
    m.def(
        "number_fixed",
        [](const InputBuffer& values, Count width, Count num_values, const OutputBuffer& out_indices,
           const OutputBuffer& out_firsts) {
            Unlocked unlocked;
            return number_fixed(values, width, num_values, out_indices, out_firsts);
        },
        "values"_a, "width"_a, "num_values"_a, "out_indices"_a, "out_firsts"_a);
    m.def(
        "number_strings",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data,
           const OutputBuffer& out_indices, const OutputBuffer& out_firsts) {
            Unlocked unlocked;
            return number_strings(offsets, offset_bits, num_values, data, out_indices, out_firsts);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "out_indices"_a, "out_firsts"_a);
    m.def(
        "sample_fixed",
        [](const InputBuffer& values, Count width, Count num_values, Count num_blocks, Count block_items) {
            Unlocked unlocked;
            return sample_fixed(values, width, num_values, num_blocks, block_items);
        },
        "values"_a, "width"_a, "num_values"_a, "num_blocks"_a, "block_items"_a);
    m.def(
        "sample_strings",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data, Count num_blocks,
           Count block_items) {
            Unlocked unlocked;
            return sample_strings(offsets, offset_bits, num_values, data, num_blocks, block_items);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "num_blocks"_a, "block_items"_a);
}

void bind_symbols(nb::module_& m) {
    m.def(
        "check_offsets",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, Count num_items) {
            Unlocked unlocked;
            check_offsets(offsets, offset_bits, num_values, num_items);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "num_items"_a);
    m.def(
        "longest_string",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values) {
            Unlocked unlocked;
            return longest_string(offsets, offset_bits, num_values);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a);
    m.def(
        "fsst_train",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data, Count sample_bytes,
           const OutputBuffer& out) {
            Unlocked unlocked;
            fsst_train(offsets, offset_bits, num_values, data, sample_bytes, out);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "sample_bytes"_a, "out"_a);
    m.def(
        "fsst_encode",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data,
           const InputBuffer& symbol_table, const OutputBuffer& out_offsets, const OutputBuffer& out) {
            Unlocked unlocked;
            return fsst_encode(offsets, offset_bits, num_values, data, symbol_table, out_offsets, out);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "symbol_table"_a, "out_offsets"_a, "out"_a);
}

template <class View, class Buffer>
std::optional<View> view(const std::optional<Buffer>& buffer) {
    if (!buffer) return std::nullopt;
    return View(*buffer);
}

void bind_zip_up(nb::module_& m) {
    m.def(
        "zip",
        [](const std::optional<InputBuffer>& rep, const std::optional<InputBuffer>& def, Count num_entries,
           Count bits_rep, Count bits_def, Count max_rep, Count max_visible, Count value_bytes, Count length_bytes,
           const std::optional<InputBuffer>& offsets, Count offset_bits, const InputBuffer& values,
           const OutputBuffer& out, const std::optional<OutputBuffer>& out_row_starts) {
            Unlocked unlocked;
            const ZipShape shape(bits_rep, bits_def, max_visible, value_bytes, length_bytes);
            const ZipInput in{view<Bytes>(rep), view<Bytes>(def), view<Bytes>(offsets), offset_bits, values};
            return zip(in, num_entries, shape, max_rep, out, view<MutableBytes>(out_row_starts));
        },
        "rep"_a.none(), "def_"_a.none(), "num_entries"_a, "bits_rep"_a, "bits_def"_a, "max_rep"_a, "max_visible"_a,
        "value_bytes"_a, "length_bytes"_a, "offsets"_a.none(), "offset_bits"_a, "values"_a, "out"_a,
        "out_row_starts"_a.none());
}

}  // namespace

void bind_encoding(nb::module_& m) {
    bind_chunks_out(m);
    bind_fixed_width(m);
    bind_numbers(m);
    bind_runs(m);
    bind_dictionaries(m);
    bind_symbols(m);
    bind_zip_up(m);
}

}  // namespace lance
