// Binds the kernels of bloom filters and of checksums.
#include "search/bloom.h"
#include "bind/python.h"
#include "system/block_hasher.h"

using namespace nanobind::literals;

namespace lance {

namespace {

// Less is hashed sooner than the lock is given back.
constexpr size_t kLongData = 256 * 1024;

}  // namespace

void bind_bloom(nb::module_& m) {
    nb::class_<BlockHasher>(m, "BlockHasher", nb::is_final())
        .def(
            "__init__", [](BlockHasher* self, Count block_bytes) { new (self) BlockHasher(block_bytes); },
            "block_bytes"_a)
        .def(
            "update",
            [](BlockHasher& self, const InputBuffer& data) {
                const Bytes bytes = data;
                if (bytes.size() < kLongData) {
                    self.update(bytes);
                } else {
                    Unlocked unlocked;
                    self.update(bytes);
                }
            },
            "data"_a)
        .def("finish", [](const BlockHasher& self) {
            const std::vector<uint8_t> hashes = self.finish();
            return nb::bytes(hashes.data(), hashes.size());
        });
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
