// Binds the kernels of bloom filters.
#include "bloom.h"
#include "python.h"

using namespace nanobind::literals;

namespace lance {

void bind_bloom(nb::module_& m) {
    m.def(
        "hash_fixed",
        [](const InputBuffer& values, Count width, Count num_values, const OutputBuffer& out) {
            Unlocked unlocked;
            hash_fixed(values, width, num_values, out);
        },
        "values"_a, "width"_a, "num_values"_a, "out"_a);
    m.def(
        "hash_strings",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data,
           const OutputBuffer& out) {
            Unlocked unlocked;
            hash_strings(offsets, offset_bits, num_values, data, out);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "out"_a);
    m.def(
        "bloom_insert",
        [](const InputBuffer& hashes, const OutputBuffer& filter) {
            Unlocked unlocked;
            bloom_insert(hashes, filter);
        },
        "hashes"_a, "filter"_a);
}

}  // namespace lance
