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
    m.def("variable_chunks", kernel(variable_chunks), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a,
          "item_starts"_a, "out_starts"_a, "out"_a);
}

void bind_fixed_width(nb::module_& m) {
    m.def("group_widths", kernel(group_widths), "values"_a, "word_bits"_a, "num_values"_a, "item_starts"_a, "out"_a);
    m.def("pack_inline", kernel(pack_inline), "values"_a, "word_bits"_a, "num_values"_a, "item_starts"_a, "widths"_a,
          "out"_a);
    m.def("pack", kernel(pack), "values"_a, "word_bits"_a, "num_bits"_a, "num_values"_a, "item_starts"_a,
          "out_starts"_a, "out"_a);
    m.def("align_bits", kernel(align_bits), "bits"_a, "bits_per_value"_a, "num_values"_a, "item_starts"_a,
          "out_starts"_a, "out"_a);
    m.def("split_bytes", kernel(split_bytes), "values"_a, "width"_a, "num_values"_a, "item_starts"_a, "out"_a);
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
                pairs.append(nb::make_tuple(to_bytes(page.words), to_bytes(page.chunks)));
            }
            return pairs;
        },
        "pages"_a, "word_bits"_a, "num_values"_a, "log2_items"_a, "is_packed"_a, "large"_a);
}

void bind_runs(nb::module_& m) {
    m.def("count_changes", kernel(count_changes), "values"_a, "value_bits"_a, "num_values"_a);
    m.def("count_runs", kernel(count_runs), "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a, "out"_a);
    m.def("encode_runs", kernel(encode_runs), "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a,
          "out_values"_a, "out_lengths"_a);
    m.def("encode_run_blocks", kernel(encode_run_blocks), "values"_a, "value_bits"_a, "num_values"_a, "item_starts"_a,
          "run_counts"_a, "out"_a);
}

void bind_dictionaries(nb::module_& m) {
    m.def("number_fixed", kernel(number_fixed), "values"_a, "width"_a, "num_values"_a, "out_indices"_a, "out_firsts"_a);
    m.def("number_strings", kernel(number_strings), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a,
          "out_indices"_a, "out_firsts"_a);
    m.def("sample_fixed", kernel(sample_fixed), "values"_a, "width"_a, "num_values"_a, "num_blocks"_a, "block_items"_a);
    m.def("sample_strings", kernel(sample_strings), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a,
          "num_blocks"_a, "block_items"_a);
}

void bind_symbols(nb::module_& m) {
    m.def("check_offsets", kernel(check_offsets), "offsets"_a, "offset_bits"_a, "num_values"_a, "num_items"_a);
    m.def("longest_string", kernel(longest_string), "offsets"_a, "offset_bits"_a, "num_values"_a);
    m.def("fsst_train", kernel(fsst_train), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "sample_bytes"_a,
          "out"_a);
    m.def("fsst_encode", kernel(fsst_encode), "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "symbol_table"_a,
          "out_offsets"_a, "out"_a);
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
            const ZipInput in{rep, def, offsets, offset_bits, values};
            return zip(in, num_entries, shape, max_rep, out, out_row_starts);
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
