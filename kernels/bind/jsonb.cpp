// Binds the kernel that stores JSON.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bind/python.h"
#include "schema/jsonb.h"

using namespace nanobind::literals;

namespace lance {

void bind_jsonb(nb::module_& m) {
    m.def(
        "jsonb_from_text",
        [](const InputBuffer& offsets, const InputBuffer& data, const InputBuffer& valid,
           const OutputBuffer& out_offsets, const OutputBuffer& out) {
            Unlocked unlocked;
            const JsonFault fault = jsonb_from_text(offsets, data, valid, out_offsets, out);
            return std::pair(fault.index, fault.reason);
        },
        "offsets"_a, "data"_a, "valid"_a, "out_offsets"_a, "out"_a);
}

}  // namespace lance
