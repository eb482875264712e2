// Binds streams of batches, and hands them over through the Arrow C stream interface.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <memory>
#include <string>

#include "bind/bound_pages.h"
#include "bind/interpreter_calls.h"
#include "bind/shared_numbers.h"
#include "stream/batch_stream.h"
#include "system/decode_threads.h"

using namespace nanobind::literals;

namespace lance {

namespace {

// What a fragment in a stream needs of Python, which is let go of with the interpreter's lock.
struct HeldByPython {
    std::vector<InputBuffer> buffers;
    std::vector<nb::object> objects;
    nb::object raise;
};

struct PythonFragmentRows : FragmentRows {
    PythonFragmentRows(Bytes rows, Bytes ends, StreamedFilter filter, std::vector<StreamedColumn> columns,
                       std::vector<StreamedShape> shapes, int64_t most_joined, std::unique_ptr<HeldByPython> held)
        : FragmentRows(rows, ends, std::move(filter), std::move(columns), std::move(shapes), most_joined),
          held(std::move(held)) {}
    PythonFragmentRows(const PythonFragmentRows&) = delete;
    PythonFragmentRows& operator=(const PythonFragmentRows&) = delete;
    ~PythonFragmentRows() {
        // Once Python has ended there is nobody to give it back to.
        if (has_decoding_stopped() && !PyGILState_Check()) {
            held.release();
            return;
        }
        if (is_wait_limited() && !PyGILState_Check()) {
            let_go([all = std::shared_ptr<HeldByPython>(std::move(held))]() mutable { all.reset(); });
            return;
        }
        const Locked locked;
        held.reset();
    }

    std::unique_ptr<HeldByPython> held;
};

constexpr int kDeepestSteps = 200;

struct BoundFragmentRows {
    std::shared_ptr<const PythonFragmentRows> rows;
};

template <class Node>
SharedNode<Node> exported(nb::handle object) {
    Node node{};
    object.attr("_export_to_c")(reinterpret_cast<uintptr_t>(&node));
    return SharedNode<Node>(node);
}

// (first row, items, or the bits of the offsets of strings that become items)
std::vector<StreamedItems> to_items(const nb::list& given) {
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

// The number of a test, that of a pair behind all tests, or a sequence of sequences of steps.
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

PairComparison to_comparison(nb::handle order, nb::handle accepted, nb::handle divisor) {
    const std::optional<ValueOrder> kind = order.is_none() ? std::nullopt : std::optional(to_choice<ValueOrder>(order));
    const int64_t outcomes = to_count(accepted);
    const int64_t divided_by = to_count(divisor);
    if (outcomes > PairComparison::kAllOutcomes) fail("outcomes ", outcomes, " are not 0 to 7");
    return {kind, static_cast<uint8_t>(outcomes), static_cast<uint64_t>(divided_by)};
}

// tests: (column, parts of its pages, test, bounds to be learned or None); pairs: (column, parts of its pages, column,
// parts of its pages, order, accepted outcomes, divisor); columns: (column, parts of its pages, whether there may be
// NULLs, [(first row, items)], [(page, bytes that may be lent)])
BoundFragmentRows fragment_rows(nb::list tests, nb::list pairs, nb::handle steps, nb::list columns, nb::handle shapes,
                                const InputBuffer& rows, const InputBuffer& ends, nb::object raise,
                                int64_t most_joined) {
    auto held = std::make_unique<HeldByPython>();
    const auto keep = [&](nb::handle buffer) -> Bytes {
        held->buffers.push_back(hold(buffer));
        return held->buffers.back();
    };
    StreamedFilter filter;
    for (nb::handle each : tests) {
        const auto given = nb::cast<nb::tuple>(each);
        held->objects.push_back(nb::borrow(each));
        filter.tests.push_back({&nb::cast<const BoundColumn&>(given[0]).reader, to_parts(given[1], keep),
                                &nb::cast<const BoundColumnTest&>(given[2]).tests,
                                given[3].is_none() ? nullptr : &nb::cast<ZoneBounds&>(given[3])});
    }
    for (nb::handle each : pairs) {
        const auto given = nb::cast<nb::tuple>(each);
        held->objects.push_back(nb::borrow(each));
        filter.pairs.push_back({&nb::cast<const BoundColumn&>(given[0]).reader, to_parts(given[1], keep),
                                &nb::cast<const BoundColumn&>(given[2]).reader, to_parts(given[3], keep),
                                to_comparison(given[4], given[5], given[6])});
    }
    std::vector<StreamedColumn> wanted;
    for (nb::handle each : columns) {
        const auto given = nb::cast<nb::tuple>(each);
        held->objects.push_back(nb::borrow(each));
        wanted.push_back({&nb::cast<const BoundColumn&>(given[0]).reader, to_parts(given[1], keep),
                          nb::cast<bool>(given[2]), to_items(nb::cast<nb::list>(given[3])), to_lent(given[4])});
    }
    filter.steps = to_steps(steps, filter.tests.size(), filter.pairs.size(), 0);
    held->raise = std::move(raise);
    return {std::make_shared<const PythonFragmentRows>(rows, ends, std::move(filter), std::move(wanted),
                                                       to_shapes(shapes, 0), most_joined, std::move(held))};
}

// A batch of Python's, whose memory may need the interpreter's lock to be given back: whoever gives it back does not
// wait for the lock where that has a limit.
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

// An iterator over fragments and record batches, and what is called when nobody wants more of it.
class PythonSource : public BatchSource {
  public:
    PythonSource(nb::object iterator, nb::object at_end)
        : can_say_whether_ready_(nb::hasattr(iterator, "is_ready")),
          iterator_(std::make_shared<nb::object>(std::move(iterator))),
          at_end_(std::move(at_end)) {}
    ~PythonSource() override {
        if (has_decoding_stopped() && !PyGILState_Check()) {
            // Once Python has ended there is nobody to give it back to.
            new std::shared_ptr<nb::object>(std::move(iterator_));
            at_end_.release();
            return;
        }
        if (has_ended_ && !at_end_.is_valid() && !is_wait_limited()) {
            const Locked locked;
            iterator_.reset();
            return;
        }
        let_go([iterator = std::move(iterator_), at_end = at_end_.release().ptr()]() mutable {
            iterator.reset();
            if (at_end == nullptr) return;
            Py_XDECREF(PyObject_CallNoArgs(at_end));
            if (PyErr_Occurred()) PyErr_WriteUnraisable(at_end);
            Py_DECREF(at_end);
        });
    }

    Next next(bool may_wait) override {
        // Held by the call, which may come to its end after this one.
        auto result = std::shared_ptr<Next>(new Next, [](Next* next) {
            if (auto* batch = std::get_if<ArrowArray>(next); batch && batch->release) batch->release(batch);
            delete next;
        });
        const bool asks = !may_wait && can_say_whether_ready_;
        call_interpreter([result, iterator = iterator_, asks] {
            const bool is_ready = !asks || nb::cast<bool>(iterator->attr("is_ready")());
            *result = is_ready ? next_of(*iterator) : Next(NotYet());
        });
        has_ended_ = std::holds_alternative<std::monostate>(*result);
        return std::exchange(*result, std::monostate());
    }

    void raise(const FragmentRows& fragment, const PageFailure& failure) override {
        const Locked locked;
        nb::object page = nb::none();
        if (failure.number != kUnknownPage) page = nb::cast(failure.number);
        static_cast<const PythonFragmentRows&>(fragment).held->raise(failure.in_test, failure.column, page,
                                                                     failure.what());
        throw std::runtime_error(failure.what());
    }

  private:
    static Next next_of(const nb::object& iterator) {
        const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
        if (!item.is_valid()) {
            if (PyErr_Occurred()) nb::raise_python_error();
            return std::monostate();
        }
        if (nb::isinstance<BoundFragmentRows>(item)) {
            return std::shared_ptr<const FragmentRows>(nb::cast<const BoundFragmentRows&>(item).rows);
        }
        ArrowArray batch{};
        item.attr("_export_to_c")(reinterpret_cast<uintptr_t>(&batch));
        return is_wait_limited() ? patient(batch) : batch;
    }

    bool can_say_whether_ready_;
    std::shared_ptr<nb::object> iterator_;
    nb::object at_end_;
    bool has_ended_ = false;
};

// A stream, and the schema of its batches.
struct BoundStream {
    BoundStream(nb::object batches, nb::object schema, Count most_ahead, bool eager, nb::object at_end)
        : schema(exported<ArrowSchema>(schema)),
          stream(std::make_shared<BatchStream>(
              std::make_unique<PythonSource>(std::move(batches), at_end.is_none() ? nb::object() : std::move(at_end)),
              most_ahead, eager)) {}

    SharedSchema schema;
    std::shared_ptr<BatchStream> stream;
};

struct ExportedStream {
    SharedSchema schema;
    std::shared_ptr<BatchStream> stream;
    std::string error;
};

std::string to_utf8(nb::handle object) {
    const nb::object text = nb::steal(PyObject_Str(object.ptr()));
    if (!text.is_valid()) nb::raise_python_error();
    // Paths may hold bytes that are no UTF-8.
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!encoded.is_valid()) nb::raise_python_error();
    return {PyBytes_AsString(encoded.ptr()), static_cast<size_t>(PyBytes_Size(encoded.ptr()))};
}

// What went wrong, as the last line of a traceback says it.
std::string to_text(const std::exception& error) {
    const auto* raised = dynamic_cast<const nb::python_error*>(&error);
    if (raised == nullptr) return error.what();
    const Locked locked;
    try {
        const nb::handle type = raised->type();
        return to_utf8(type.attr("__module__")) + "." + to_utf8(type.attr("__qualname__")) + ": " +
               to_utf8(raised->value());
    } catch (const std::exception&) {
        return "an error that has no text";
    }
}

bool is_interrupt(const std::exception& error) noexcept {
    const auto* raised = dynamic_cast<const nb::python_error*>(&error);
    if (raised == nullptr) return false;
    const Locked locked;
    return raised->matches(PyExc_KeyboardInterrupt);
}

// Says the first error again whenever it is asked after it: of an engine's threads, any may be the one that reports.
template <class Text>
void remember(ExportedStream& state, Text text) noexcept {
    if (!state.error.empty()) return;
    try {
        state.error = text();
    } catch (...) {
        state.error.clear();
    }
}

template <class Call>
int guarded(ArrowArrayStream* exported, Call call) noexcept {
    auto& state = *static_cast<ExportedStream*>(exported->private_data);
    int code = EIO;
    bool is_interrupted = false;
    try {
        call(state);
        return 0;
    } catch (const std::bad_alloc&) {
        remember(state, [] { return "out of memory"; });
        code = ENOMEM;
    } catch (const std::exception& error) {
        remember(state, [&error] { return to_text(error); });
        is_interrupted = is_interrupt(error);
    } catch (...) {
    }
    // A signal that a stream was the first to notice is to end more than the stream, of whose error an engine makes its
    // own. Behind the error, whose frames close generators when they are let go of, and would be the next to notice.
    if (is_interrupted) {
        const Locked locked;
        PyErr_SetInterrupt();
    }
    return code;
}

int get_schema(ArrowArrayStream* exported, ArrowSchema* out) {
    return guarded(exported, [&](ExportedStream& state) { state.schema.copy(*out); });
}

int get_next(ArrowArrayStream* exported, ArrowArray* out) {
    return guarded(exported, [&](ExportedStream& state) {
        std::optional<ArrowArray> batch = state.stream->next();
        *out = batch ? *batch : ArrowArray{};
    });
}

const char* get_last_error(ArrowArrayStream* exported) {
    return static_cast<ExportedStream*>(exported->private_data)->error.c_str();
}

void release_stream(ArrowArrayStream* exported) {
    delete static_cast<ExportedStream*>(exported->private_data);
    exported->release = nullptr;
}

constexpr const char* kCapsule = "arrow_array_stream";

void release_capsule(PyObject* capsule) {
    auto* exported = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kCapsule));
    if (exported == nullptr) return;
    if (exported->release != nullptr) exported->release(exported);
    delete exported;
}

nb::object to_capsule(const BoundStream& self, nb::object) {
    auto state = std::make_unique<ExportedStream>(ExportedStream{self.schema, self.stream, {}});
    auto exported = std::make_unique<ArrowArrayStream>(
        ArrowArrayStream{get_schema, get_next, get_last_error, release_stream, state.get()});
    PyObject* capsule = PyCapsule_New(exported.get(), kCapsule, release_capsule);
    if (capsule == nullptr) nb::raise_python_error();
    state.release();
    exported.release();
    return nb::steal(capsule);
}

BoundArray* next_batch(const BoundStream& self) {
    // made first: without memory for it nobody would release the batch
    auto bound = std::make_unique<BoundArray>(ArrowArray{});
    std::optional<ArrowArray> batch;
    {
        const Unlocked unlocked;
        batch = self.stream->next();
    }
    if (!batch) throw nb::stop_iteration();
    bound->array = *batch;
    return bound.release();
}

}  // namespace

void bind_streams(nb::module_& m) {
    nb::class_<BoundFragmentRows>(m, "FragmentRows")
        .def(
            "__init__",
            [](BoundFragmentRows* self, nb::list tests, nb::list pairs, nb::sequence steps, nb::list columns,
               nb::sequence shapes, const InputBuffer& rows, const InputBuffer& ends, nb::object raise_failure,
               Count most_joined) {
                new (self) BoundFragmentRows(fragment_rows(tests, pairs, steps, columns, shapes, rows, ends,
                                                           std::move(raise_failure), most_joined));
            },
            "tests"_a, "pairs"_a, "steps"_a, "columns"_a, "shapes"_a, "rows"_a, "ends"_a, "raise_failure"_a,
            "most_joined"_a);
    nb::class_<BoundStream>(m, "BatchStream")
        .def(nb::init<nb::object, nb::object, Count, bool, nb::object>(), "batches"_a, "schema"_a, nb::kw_only(),
             "most_ahead"_a, "eager"_a, "at_end"_a = nb::none())
        .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
        .def("__next__", next_batch, nb::rv_policy::take_ownership)
        .def("__arrow_c_stream__", to_capsule, "requested_schema"_a = nb::none());
    m.def("limit_decode_threads", [](Count most) { limit_decode_threads(most); }, "most"_a);
    m.def(
        "stop_decoding",
        [](double most_seconds) {
            const Unlocked unlocked;
            stop_decoding(most_seconds);
            stop_interpreter_calls();
        },
        "most_seconds"_a);
    m.def("forget_decode_threads", [] {
        forget_decode_threads();
        forget_interpreter_calls();
    });
    m.def("limit_wait_for_interpreter", limit_wait_for_interpreter, "seconds"_a);
}

}  // namespace lance
