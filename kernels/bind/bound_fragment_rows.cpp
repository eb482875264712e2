// Binds the rows of a fragment that a stream decodes, with their columns, tests and steps.
#include "bind/bound_fragment_rows.h"

#include <nanobind/stl/optional.h>

#include <nanobind/stl/string.h>

#include "bind/interpreter_calls.h"
#include "bind/shared_numbers.h"
#include "system/bits.h"
#include "system/decode_threads.h"

using namespace nanobind::literals;

namespace lance {

namespace {

constexpr int kDeepestSteps = 200;

// A column whose values are tested; bounds are learned of it, or None.
struct TestedColumn {
    nb::object reader, parts, test, bounds;
};

// Two columns whose values are compared.
struct ComparedColumns {
    nb::object left, left_parts, right, right_parts;
    PairComparison comparison;
};

// A column of the batches.
struct DeliveredColumn {
    nb::object reader, parts;
    bool nullable;
    nb::object items, lent;
    bool is_json;
};

// The rest of a filter.
struct Evaluation {
    nb::object columns, shapes, evaluate, kept_at;
};

// (first row, items, or the bits of the offsets of strings that become items)
std::vector<StreamedItems> to_items(nb::handle given) {
    std::vector<StreamedItems> items;
    for (nb::handle each : given) {
        const auto pair = nb::cast<nb::tuple>(each);
        const int64_t first_row = to_count(pair[0]);
        if (nb::isinstance<nb::int_>(pair[1])) {
            items.push_back({first_row, to_count(pair[1])});
        } else {
            items.push_back({first_row, exported<ArrowArray>(pair[1])});
        }
    }
    return items;
}

// (page, its bytes as an array)
std::vector<LentBytes> to_lent(nb::handle given) {
    std::vector<LentBytes> lent;
    for (nb::handle each : given) {
        const auto pair = nb::cast<nb::tuple>(each);
        lent.push_back({static_cast<size_t>(to_count(pair[0])), exported<ArrowArray>(pair[1])});
    }
    return lent;
}

// The number of a test, of a pair (numbered after all tests), or a sequence of sequences of steps.
FilterSteps to_steps(nb::handle given, size_t num_tests, size_t num_pairs, int depth) {
    if (depth > kDeepestSteps) fail("a filter of more than ", kDeepestSteps, " levels");
    FilterSteps steps;
    for (nb::handle each : given) {
        FilterStep& step = steps.emplace_back();
        if (nb::isinstance<nb::int_>(each)) {
            const auto number = static_cast<size_t>(to_count(each));
            if (number >= num_tests + num_pairs) fail("no test ", number, " among ", num_tests + num_pairs);
            if (number < num_tests) {
                step.test = number;
            } else {
                step.pair = number - num_tests;
            }
            continue;
        }
        for (nb::handle all : each) step.any.push_back(to_steps(all, num_tests, num_pairs, depth + 1));
    }
    return steps;
}

// The number of a column, (kind, members), or None for NULLs.
std::vector<StreamedShape> to_shapes(nb::handle given, int depth) {
    if (depth > kDeepestSteps) fail("columns of more than ", kDeepestSteps, " levels");
    std::vector<StreamedShape> shapes;
    for (nb::handle each : given) {
        StreamedShape& shape = shapes.emplace_back();
        if (nb::isinstance<nb::int_>(each)) {
            shape.column = static_cast<size_t>(to_count(each));
            continue;
        }
        if (each.is_none()) {
            continue;
        }
        const auto pair = nb::cast<nb::tuple>(each);
        shape.kind = to_choice<ShapeKind>(pair[0]);
        shape.members = to_shapes(pair[1], depth + 1);
    }
    return shapes;
}

PairComparison to_comparison(nb::handle order, int64_t outcomes, int64_t divided_by) {
    const std::optional<ValueOrder> kind = order.is_none() ? std::nullopt : std::optional(to_choice<ValueOrder>(order));
    if (outcomes > PairComparison::kAllOutcomes) fail("outcomes ", outcomes, " are not 0 to 7");
    return {kind, static_cast<uint8_t>(outcomes), static_cast<uint64_t>(divided_by)};
}

BoundFragmentRows fragment_rows(nb::list tests, nb::list pairs, nb::handle steps, nb::handle evaluation,
                                nb::list columns, nb::handle shapes, const InputBuffer& rows, const InputBuffer& ends,
                                nb::object raise, int64_t most_joined) {
    auto held = std::make_unique<HeldByPython>();
    const auto keep = [&](nb::handle buffer) -> Bytes {
        held->buffers.push_back(hold(buffer));
        return held->buffers.back();
    };
    StreamedFilter filter;
    for (nb::handle each : tests) {
        const auto& given = nb::cast<const TestedColumn&>(each);
        held->objects.push_back(nb::borrow(each));
        filter.tests.push_back({&nb::cast<const BoundColumn&>(given.reader).reader, to_parts(given.parts, keep),
                                &nb::cast<const BoundColumnTest&>(given.test).tests,
                                given.bounds.is_none() ? nullptr : &nb::cast<ZoneBounds&>(given.bounds)});
    }
    for (nb::handle each : pairs) {
        const auto& given = nb::cast<const ComparedColumns&>(each);
        held->objects.push_back(nb::borrow(each));
        filter.pairs.push_back({&nb::cast<const BoundColumn&>(given.left).reader, to_parts(given.left_parts, keep),
                                &nb::cast<const BoundColumn&>(given.right).reader, to_parts(given.right_parts, keep),
                                given.comparison});
    }
    const auto to_columns = [&](nb::handle columns) {
        std::vector<StreamedColumn> wanted;
        for (nb::handle each : columns) {
            const auto& given = nb::cast<const DeliveredColumn&>(each);
            held->objects.push_back(nb::borrow(each));
            wanted.push_back({&nb::cast<const BoundColumn&>(given.reader).reader, to_parts(given.parts, keep),
                              given.nullable, to_items(given.items), to_lent(given.lent), given.is_json});
        }
        return wanted;
    };
    std::vector<StreamedColumn> wanted = to_columns(columns);
    std::optional<StreamedEvaluation> rest;
    if (!evaluation.is_none()) {
        const auto& given = nb::cast<const Evaluation&>(evaluation);
        rest.emplace(StreamedEvaluation{to_columns(given.columns), to_shapes(given.shapes, 0), {}});
        for (nb::handle place : given.kept_at) rest->kept_at.push_back(static_cast<size_t>(to_count(place)));
        held->evaluate = std::make_shared<nb::object>(given.evaluate);
    }
    filter.steps = to_steps(steps, filter.tests.size(), filter.pairs.size(), 0);
    held->raise = std::move(raise);
    return {std::make_shared<const PythonFragmentRows>(rows, ends, std::move(filter), std::move(rest),
                                                       std::move(wanted), to_shapes(shapes, 0), most_joined,
                                                       std::move(held))};
}

// Takes the columns out of a struct.
void move_columns(ArrowArray batch, HeldArrays& columns) {
    for (int64_t i = 0; i < batch.n_children; ++i) {
        const ArrowArray column = std::exchange(*batch.children[i], ArrowArray{});
        columns.arrays.push_back(is_wait_limited() ? patient(column) : column);
    }
    batch.release(&batch);
}

// Values that are evaluated, and what comes of it.
struct EvaluationCall {
    explicit EvaluationCall(ArrowArray values) : values(std::make_unique<BoundArray>(values)) {}

    std::unique_ptr<BoundArray> values;
    EvaluatedRows passed;
};

}  // namespace

ArrowArray patient(ArrowArray batch) {
    auto* own = new ArrowArray(batch);
    batch.private_data = own;
    batch.release = [](ArrowArray* outer) {
        std::unique_ptr<ArrowArray> inner(static_cast<ArrowArray*>(outer->private_data));
        outer->release = nullptr;
        if (PyGILState_Check() || has_decoding_stopped()) {
            inner->release(inner.get());
            return;
        }
        let_go([all = std::shared_ptr<ArrowArray>(std::move(inner))] { all->release(all.get()); });
    };
    return batch;
}

EvaluatedRows PythonFragmentRows::evaluate(ArrowArray values) const {
    if (!held->evaluate) return FragmentRows::evaluate(values);
    const auto call = std::make_shared<EvaluationCall>(values);
    const int64_t num_rows = values.length;
    // Held by the call, which may come to its end after this one.
    call_interpreter([call, num_rows, evaluate = held->evaluate] {
        const nb::object array = nb::cast(call->values.release(), nb::rv_policy::take_ownership);
        const nb::object answer = (*evaluate)(array);
        if (answer.is_none()) return;
        const auto pair = nb::cast<nb::tuple>(answer);
        EvaluatedRows& passed = call->passed;
        passed.num_rows = num_rows;
        if (!nb::object(pair[1]).is_none()) {
            const InputBuffer flags = hold(pair[1]);
            const Bytes bytes = flags;
            passed.flags.assign(bytes.begin(), bytes.end());
            passed.num_rows = count_flags(bytes);
        }
        if (!nb::object(pair[0]).is_none()) {
            ArrowArray kept{};
            nb::object(pair[0]).attr("_export_to_c")(reinterpret_cast<uintptr_t>(&kept));
            move_columns(kept, passed.kept);
        }
    });
    return std::move(call->passed);
}

void bind_fragment_rows(nb::module_& m) {
    nb::class_<TestedColumn>(m, "TestedColumn")
        .def(nb::init<nb::object, nb::object, nb::object, nb::object>(), "reader"_a, "parts"_a, "test"_a,
             "bounds"_a.none());
    nb::class_<ComparedColumns>(m, "ComparedColumns")
        .def(
            "__init__",
            [](ComparedColumns* self, nb::object left, nb::object left_parts, nb::object right, nb::object right_parts,
               nb::object order, Count outcomes, Count divisor) {
                new (self) ComparedColumns{std::move(left), std::move(left_parts), std::move(right),
                                           std::move(right_parts), to_comparison(order, outcomes, divisor)};
            },
            "left"_a, "left_parts"_a, "right"_a, "right_parts"_a, "order"_a.none(), "outcomes"_a, "divisor"_a);
    nb::class_<DeliveredColumn>(m, "DeliveredColumn")
        .def(nb::init<nb::object, nb::object, bool, nb::sequence, nb::sequence, bool>(), "reader"_a, "parts"_a,
             "nullable"_a, "items"_a, "lent"_a, "is_json"_a);
    nb::class_<Evaluation>(m, "Evaluation")
        .def(nb::init<nb::list, nb::sequence, nb::object, nb::sequence>(), "columns"_a, "shapes"_a, "evaluate"_a,
             "kept_at"_a);
    nb::class_<BoundFragmentRows>(m, "FragmentRows")
        .def(
            "__init__",
            [](BoundFragmentRows* self, nb::list tests, nb::list pairs, nb::sequence steps, nb::list columns,
               nb::sequence shapes, const InputBuffer& rows, const InputBuffer& ends, nb::object raise_failure,
               Count most_joined, nb::object evaluation) {
                new (self) BoundFragmentRows(fragment_rows(tests, pairs, steps, evaluation, columns, shapes, rows, ends,
                                                           std::move(raise_failure), most_joined));
            },
            "tests"_a, "pairs"_a, "steps"_a, "columns"_a, "shapes"_a, "rows"_a, "ends"_a, "raise_failure"_a,
            "most_joined"_a, "evaluation"_a = nb::none());
}

}  // namespace lance
