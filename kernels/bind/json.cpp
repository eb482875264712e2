// Binds the kernels of stored JSON: from text, to text, and the members of documents.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bind/bound_fragment_rows.h"
#include "bind/bound_pages.h"
#include "bind/shared_numbers.h"
#include "schema/json_columns.h"
#include "schema/jsonb.h"

using namespace nanobind::literals;

namespace lance {

namespace {

nb::tuple to_fault(const JsonFailure& failure) {
    return nb::make_tuple(static_cast<int>(failure.kind), failure.row, failure.what());
}

// Calls make(documents) without the GIL: (its array, None), or (None, the fault).
template <class Make>
nb::tuple made_of(nb::handle documents, Make make) {
    const SharedArray array = exported<ArrowArray>(documents);
    try {
        const ArrowArray made = without_lock([&] { return make(array.node()); });
        return nb::make_tuple(nb::cast(new BoundArray(made), nb::rv_policy::take_ownership), nb::none());
    } catch (const JsonFailure& failure) {
        return nb::make_tuple(nb::none(), to_fault(failure));
    }
}

nb::object converted(BoundArray& chain) {
    try {
        without_lock([&] { to_json_texts(chain.array); });
    } catch (const JsonFailure& failure) {
        return to_fault(failure);
    }
    return nb::none();
}

// (kind, key, index) for each step
JsonPath to_path_in_json(nb::handle steps) {
    JsonPath path;
    for (nb::handle each : steps) {
        const auto step = nb::cast<nb::tuple>(each);
        path.push_back({to_choice<JsonStepKind>(step[0]), nb::cast<std::string>(step[1]), to_count(step[2])});
    }
    return path;
}

}  // namespace

void bind_json(nb::module_& m) {
    m.def(
        "jsonb_from_text",
        [](const InputBuffer& offsets, const InputBuffer& data, const InputBuffer& valid,
           const OutputBuffer& out_offsets, const OutputBuffer& out) {
            Unlocked unlocked;
            const JsonFault fault = jsonb_from_text(offsets, data, valid, out_offsets, out);
            return std::pair(fault.index, fault.reason);
        },
        "offsets"_a, "data"_a, "valid"_a, "out_offsets"_a, "out"_a);
    m.def("json_texts", [](nb::handle documents) { return made_of(documents, json_texts); }, "documents"_a);
    m.def("to_json_texts", converted, "chain"_a);
    m.def(
        "json_members",
        [](nb::handle documents, nb::sequence path, nb::handle result, const std::string& wanted) {
            const JsonPath steps = to_path_in_json(path);
            const auto kind = to_choice<JsonResult>(result);
            return made_of(documents,
                           [&](const ArrowArray& array) { return json_members(array, steps, kind, wanted); });
        },
        "documents"_a, "path"_a, "result"_a, "wanted"_a);
}

}  // namespace lance
