// Binds the kernels as lance_sql._kernels; lance_sql/_kernels.pyi holds the signatures and their meaning.
#include <nanobind/ndarray.h>

#include <optional>

#include "kernels.h"
#include "python.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace lance {

namespace {

using Int64Array = nb::ndarray<nb::numpy, int64_t>;
using Unlocked = nb::gil_scoped_release;

// A new array that owns its values.
Int64Array to_numpy(std::vector<int64_t> values, std::vector<size_t> shape) {
    auto* owned = new std::vector<int64_t>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return Int64Array(owned->data(), shape.size(), shape.data(), owner);
}

Int64Array to_numpy(std::vector<int64_t> values) {
    const size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

// Chunks and the buffers that they look into.
struct BoundChunks {
    InputBuffer data;
    InputBuffer first_buffers;
    Chunks chunks;
};

void bind_chunks(nb::module_& m) {
    nb::class_<ChunkTable>(m, "ChunkTable")
        .def(
            "__init__",
            [](ChunkTable* self, const InputBuffer& metadata, Count num_items, bool large, Count num_bytes, bool has_rep,
               bool has_def, Count num_buffers) {
                new (self) ChunkTable(metadata, num_items, {large, has_rep, has_def, num_buffers}, num_bytes);
            },
            "metadata"_a, "num_items"_a, nb::kw_only(), "large"_a, "num_bytes"_a, "has_rep"_a, "has_def"_a,
            "num_buffers"_a)
        .def_prop_ro("num_chunks", [](const ChunkTable& self) { return self.num_chunks(); })
        .def_prop_ro("num_items", [](const ChunkTable& self) { return self.num_items(); })
        .def("item_starts", [](const ChunkTable& self) { return to_numpy(self.item_starts()); })
        .def("byte_offsets", [](const ChunkTable& self) { return to_numpy(self.byte_offsets()); })
        .def(
            "chunk_of",
            [](const ChunkTable& self, Count item) {
                if (item >= self.num_items()) fail("item ", item, " is not in a page of ", self.num_items());
                return self.chunk_of(item);
            },
            "item"_a);

    nb::class_<BoundChunks>(m, "Chunks")
        .def(
            "__init__",
            [](BoundChunks* self, const ChunkTable& table, InputBuffer data, Count data_start) {
                const Chunks chunks(table, data, data_start);
                new (self) BoundChunks{std::move(data), {}, chunks};
            },
            "table"_a, "data"_a, "data_start"_a = 0, nb::keep_alive<1, 2>());
}

void bind_values(nb::module_& m) {
    m.def(
        "flat",
        [](const BoundChunks& c, const InputBuffer& ranges, Count buffer_index, Count bits_per_value,
           const OutputBuffer& out) {
            Unlocked unlocked;
            flat(c.chunks, Ranges(ranges, c.chunks.table().num_items()), buffer_index, bits_per_value, out);
        },
        "c"_a, "ranges"_a, "buffer_index"_a, "bits_per_value"_a, "out"_a);
}

}  // namespace

}  // namespace lance

NB_MODULE(_kernels, m) {
    lance::bind_chunks(m);
    lance::bind_values(m);
}
