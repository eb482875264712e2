// Binds the bounds of zones.
#include <nanobind/stl/optional.h>

#include "bind/shared_numbers.h"
#include "predicates/zone_bounds.h"

using namespace nanobind::literals;

namespace lance {

namespace {

constexpr size_t kNumbers = 6;

// Bounds are locked while the process forks. A thread that waits for the end of the fork releases the interpreter,
// which hooks of the fork may need. A fork begins with the interpreter held, so not between this check and the call.
template <typename Call>
auto once_free(const Call& call) {
    std::optional<Unlocked> unlocked;
    if (!are_zone_bounds_free()) unlocked.emplace();
    return call();
}

// (start, end, low, high, valid, NaN) for each zone; keys as the bits of int64.
Int64Array to_numbers(const ZoneBounds& zones) {
    std::vector<int64_t> numbers;
    numbers.reserve(static_cast<size_t>(zones.num_zones()) * kNumbers);
    for (const SeenRows& seen : once_free([&] { return zones.zones(); })) {
        numbers.insert(numbers.end(), {seen.start, seen.end, static_cast<int64_t>(seen.keys.low),
                                       static_cast<int64_t>(seen.keys.high), seen.keys.num_valid, seen.keys.num_nans});
    }
    return to_numpy(std::move(numbers), {static_cast<size_t>(zones.num_zones()), kNumbers});
}

void add_numbers(ZoneBounds& zones, const InputBuffer& buffer) {
    const Bytes numbers = buffer;
    if (numbers.size() % (8 * kNumbers) != 0) fail("numbers of zones of ", numbers.size(), " bytes");
    std::vector<SeenRows> runs;
    for (size_t at = 0; at < numbers.size(); at += 8 * kNumbers) {
        const auto number = [&](size_t i) { return load<int64_t>(numbers.data() + at + 8 * i); };
        const SeenRows run{number(0),
                           number(1),
                           {static_cast<uint64_t>(number(2)), static_cast<uint64_t>(number(3)), number(4), number(5)}};
        if (run.start == run.end) continue;
        if (run.start < 0 || run.end > zones.num_rows() || run.keys.num_nans < 0 ||
            run.keys.num_valid < run.keys.num_nans || run.keys.num_valid > run.end - run.start) {
            fail("a zone of rows ", run.start, " to ", run.end, " with ", run.keys.num_valid, " values");
        }
        runs.push_back(run);
    }
    once_free([&] { zones.add(runs); });
}

}  // namespace

void bind_zones(nb::module_& m) {
    m.def("hold_zone_bounds", hold_zone_bounds);
    m.def("release_zone_bounds", release_zone_bounds);
    m.def("renew_zone_bounds", renew_zone_bounds);
    m.def(
        "bound_runs",
        [](Choice<ValueOrder> order, Count num_bits, const InputBuffer& values,
           const std::optional<InputBuffer>& validity, Count offset, const InputBuffer& edges) {
            const Bytes bytes = edges;
            if (bytes.size() % 8 != 0) fail("edges of ", bytes.size(), " bytes");
            std::vector<int64_t> positions(bytes.size() / 8);
            std::memcpy(positions.data(), bytes.data(), bytes.size());
            for (const int64_t position : positions) {
                if (position < 0 || position > kMaxCount) fail("an edge at ", position);
            }
            const std::vector<KeyBounds> bounds =
                without_lock([&] { return bound_runs(order, num_bits, values, validity, offset, positions); });
            std::vector<int64_t> numbers;
            numbers.reserve(4 * bounds.size());
            for (const KeyBounds& each : bounds) {
                numbers.insert(numbers.end(), {static_cast<int64_t>(each.low), static_cast<int64_t>(each.high),
                                               each.num_valid, each.num_nans});
            }
            return to_numpy(std::move(numbers), {bounds.size(), 4});
        },
        "order"_a, "num_bits"_a, "values"_a, "validity"_a.none(), "offset"_a, "edges"_a);
    nb::class_<ZoneBounds>(m, "ZoneBounds")
        .def(nb::init<Choice<ValueOrder>, Count, Count, Count>(), "order"_a, "num_bits"_a, "num_rows"_a,
             "rows_per_zone"_a)
        .def_prop_ro("num_rows", &ZoneBounds::num_rows)
        .def_prop_ro("number", &ZoneBounds::number)
        .def_prop_ro("num_known", [](const ZoneBounds& self) { return once_free([&] { return self.num_known(); }); })
        .def_prop_ro(
            "all_known",
            [](const ZoneBounds& self) { return once_free([&] { return self.num_known() == self.num_zones(); }); })
        .def("numbers", to_numbers)
        .def("add_numbers", add_numbers, "numbers"_a)
        .def(
            "observe_array",
            [](ZoneBounds& self, Count row, const InputBuffer& values, const std::optional<InputBuffer>& validity,
               Count offset, Count count) {
                Unlocked unlocked;
                ZoneObserver observer(self);
                observer.add_array(row, values, validity, offset, count);
                observer.finish();
            },
            "row"_a, "values"_a, "validity"_a.none(), "offset"_a, "count"_a)
        .def(
            "observe_strings",
            [](ZoneBounds& self, Count row, const InputBuffer& offsets, Count offset_bits, const InputBuffer& data,
               const std::optional<InputBuffer>& validity, Count offset, Count count) {
                Unlocked unlocked;
                ZoneObserver observer(self);
                observer.add_strings(row, offsets, offset_bits, data, validity, offset, count);
                observer.finish();
            },
            "row"_a, "offsets"_a, "offset_bits"_a, "data"_a, "validity"_a.none(), "offset"_a, "count"_a);
}

}  // namespace lance
