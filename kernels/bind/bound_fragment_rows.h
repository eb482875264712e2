// The rows of a fragment that a stream decodes, as Python describes them.
#pragma once

#include <memory>

#include "bind/bound_pages.h"
#include "bind/interpreter_calls.h"
#include "stream/batch_stream.h"
#include "system/decode_threads.h"

namespace lance {

// Python objects that a fragment in a stream holds; released with the interpreter's lock.
struct HeldByPython {
    std::vector<InputBuffer> buffers;
    std::vector<nb::object> objects;
    nb::object raise;
    std::shared_ptr<nb::object> evaluate;  // or nothing
};

// A batch of Python's, whose memory may need the interpreter's lock to be given back: whoever gives it back does not
// wait for the lock where that has a limit.
ArrowArray patient(ArrowArray batch);

struct PythonFragmentRows : FragmentRows {
    PythonFragmentRows(Bytes rows, Bytes ends, StreamedFilter filter, std::optional<StreamedEvaluation> evaluation,
                       std::vector<StreamedColumn> columns, std::vector<StreamedShape> shapes, int64_t most_joined,
                       std::unique_ptr<HeldByPython> held)
        : FragmentRows(rows, ends, std::move(filter), std::move(evaluation), std::move(columns), std::move(shapes),
                       most_joined),
          held(std::move(held)) {}
    PythonFragmentRows(const PythonFragmentRows&) = delete;
    PythonFragmentRows& operator=(const PythonFragmentRows&) = delete;
    ~PythonFragmentRows() override {
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

  protected:
    EvaluatedRows evaluate(ArrowArray values) const override;
};

struct BoundFragmentRows {
    std::shared_ptr<const PythonFragmentRows> rows;
};

// The C interface of a pyarrow array or schema.
template <class Node>
SharedNode<Node> exported(nb::handle object) {
    Node node{};
    object.attr("_export_to_c")(reinterpret_cast<uintptr_t>(&node));
    return SharedNode<Node>(node);
}

void bind_fragment_rows(nb::module_& m);

}  // namespace lance
