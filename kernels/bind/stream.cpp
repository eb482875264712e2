// Binds streams of batches, and exports them through the Arrow C stream interface.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <memory>
#include <string>

#include "bind/bound_fragment_rows.h"
#include "bind/bound_pages.h"
#include "bind/interpreter_calls.h"
#include "stream/batch_stream.h"
#include "system/decode_threads.h"

using namespace nanobind::literals;

namespace lance {

namespace {

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
                                                                     failure.what(), failure.is_unsupported);
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

// Dropping a stream waits for threads that may need the interpreter's lock.
void let_go_of(std::shared_ptr<BatchStream>& stream) noexcept {
    if (stream.use_count() == 1 && PyGILState_Check() != 0) {
        const Unlocked unlocked;
        stream->stop();
    }
    stream.reset();
}

// A stream, and the schema of its batches.
struct BoundStream {
    BoundStream(nb::object batches, nb::object schema, Count most_ahead, bool eager, nb::object at_end,
                std::optional<Count> most_rows)
        : schema(exported<ArrowSchema>(schema)),
          stream(std::make_shared<BatchStream>(
              std::make_unique<PythonSource>(std::move(batches), at_end.is_none() ? nb::object() : std::move(at_end)),
              most_ahead, eager, most_rows ? int64_t{*most_rows} : INT64_MAX)) {}
    BoundStream(const BoundStream&) = delete;
    BoundStream& operator=(const BoundStream&) = delete;
    ~BoundStream() { let_go_of(stream); }

    SharedSchema schema;
    std::shared_ptr<BatchStream> stream;
};

struct ExportedStream {
    ExportedStream(SharedSchema schema, std::shared_ptr<BatchStream> stream)
        : schema(std::move(schema)), stream(std::move(stream)) {}
    ExportedStream(const ExportedStream&) = delete;
    ExportedStream& operator=(const ExportedStream&) = delete;
    ~ExportedStream() { let_go_of(stream); }

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

// The error, as in the last line of a traceback.
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

// Repeats the first error in every later call: any thread of an engine may be the one that reports it.
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
    // A signal noticed by a stream must end more than the stream, whose error an engine replaces by its own. It is sent
    // again after the error, whose frames close generators when they are released and would notice it next.
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
        // A decoding thread may need the lock to evaluate a filter, and the consumer waits for it.
        std::optional<Unlocked> unlocked;
        if (PyGILState_Check() != 0) unlocked.emplace();
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
    auto state = std::make_unique<ExportedStream>(self.schema, self.stream);
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
    std::optional<ArrowArray> batch = without_lock([&] { return self.stream->next(); });
    if (!batch) throw nb::stop_iteration();
    bound->array = *batch;
    return bound.release();
}

}  // namespace

void bind_streams(nb::module_& m) {
    bind_fragment_rows(m);
    nb::class_<BoundStream>(m, "BatchStream")
        .def(nb::init<nb::object, nb::object, Count, bool, nb::object, std::optional<Count>>(), "batches"_a, "schema"_a,
             nb::kw_only(), "most_ahead"_a, "eager"_a, "at_end"_a = nb::none(), "most_rows"_a = nb::none())
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
