// Converts Python's buffers and integers for the kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

#include "bind/interpreter_lock.h"
#include "system/bytes.h"

#ifdef Py_LIMITED_API
// The headers of the stable ABI leave it out, but every Python 3 exports it.
extern "C" int PyGILState_Check(void);
#endif

namespace lance {

namespace nb = nanobind;

// A held Py_buffer: one contiguous run of bytes of any item type.
class HeldBuffer {
  public:
    HeldBuffer() = default;
    HeldBuffer(HeldBuffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    HeldBuffer& operator=(HeldBuffer&& other) noexcept {
        std::swap(view_, other.view_);
        return *this;
    }
    ~HeldBuffer() {
        if (view_.obj) PyBuffer_Release(&view_);
    }

    bool acquire(PyObject* object, int flags) noexcept {
        if (PyObject_GetBuffer(object, &view_, flags) == 0) return true;
        PyErr_Clear();
        return false;
    }

  protected:
    size_t size() const { return static_cast<size_t>(view_.len); }
    uint8_t* data() const { return static_cast<uint8_t*>(view_.buf); }

  private:
    Py_buffer view_{};
};

struct InputBuffer : HeldBuffer {
    operator Bytes() const { return {data(), size()}; }
};

struct OutputBuffer : HeldBuffer {
    operator MutableBytes() const { return {data(), size()}; }
};

// A count, size or position. Integers outside 0..kMaxCount raise ValueError when the value is used: they are numbers
// from a damaged file, not a mistake in the call.
class Count {
  public:
    operator int64_t() const {
        if (value_ < 0) fail("a count, size or position is negative or above 2**48");
        return value_;
    }

    bool acquire(PyObject* object) noexcept {
        PyObject* index = PyNumber_Index(object);
        if (!index) {
            PyErr_Clear();
            return false;
        }
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
        Py_DECREF(index);
        value_ = (overflow != 0 || value < 0 || value > kMaxCount) ? -1 : value;
        return true;
    }

  private:
    int64_t value_ = -1;
};

// A path in the encoding of the system: in Python, names that are not UTF-8 contain surrogates.
inline std::string to_path(nb::handle path) {
    const nb::object encoded = nb::steal(PyUnicode_EncodeFSDefault(path.ptr()));
    if (!encoded.is_valid()) nb::raise_python_error();
    return {PyBytes_AsString(encoded.ptr()), static_cast<size_t>(PyBytes_Size(encoded.ptr()))};
}

inline InputBuffer hold(nb::handle object) {
    InputBuffer held;
    if (!held.acquire(object.ptr(), PyBUF_SIMPLE)) throw nb::type_error("a buffer was expected");
    return held;
}

inline int64_t to_count(nb::handle object) {
    Count count;
    if (!count.acquire(object.ptr())) throw nb::type_error("a number was expected");
    return count;
}

template <class Values>
nb::bytes to_bytes(const Values& values) {
    return nb::bytes(values.data(), values.size() * sizeof(*values.data()));
}

using Int64Array = nb::ndarray<nb::numpy, int64_t>;

// The interpreter's lock is not held while this lives.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() { take_lock(state_); }

  private:
    PyThreadState* state_;
};

// Returns the result of a call during which the interpreter's lock is not held.
template <class Call>
auto without_lock(const Call& call) {
    Unlocked unlocked;
    return call();
}

// How Python passes a parameter of a kernel: bytes as a buffer, a number as a checked count, others as they are.
template <class T>
struct FromPython {
    using type = T;
};
template <>
struct FromPython<Bytes> {
    using type = const InputBuffer&;
};
template <>
struct FromPython<MutableBytes> {
    using type = const OutputBuffer&;
};
template <>
struct FromPython<int64_t> {
    using type = Count;
};

// Returns a function that Python can call for a kernel, which runs without the interpreter's lock.
template <class Result, class... Parameters>
auto kernel(Result (*run)(Parameters...)) {
    return [run](typename FromPython<Parameters>::type... arguments) -> Result {
        Unlocked unlocked;
        return run(arguments...);
    };
}

// Holds the interpreter's lock during its lifetime, on any thread.
class Locked {
  public:
    Locked() : state_(take_lock()) {}
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked() { PyGILState_Release(state_); }

  private:
    PyGILState_STATE state_;
};

// A new array that owns its values.
inline Int64Array to_numpy(std::vector<int64_t> values, std::vector<size_t> shape) {
    auto* owned = new std::vector<int64_t>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return Int64Array(owned->data(), shape.size(), shape.data(), owner);
}

inline Int64Array to_numpy(std::vector<int64_t> values) {
    const size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

}  // namespace lance

namespace nanobind::detail {

template <>
struct type_caster<lance::InputBuffer> {
    NB_TYPE_CASTER(lance::InputBuffer, const_name("collections.abc.Buffer"))
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        return value.acquire(source.ptr(), PyBUF_SIMPLE);
    }
};

template <>
struct type_caster<lance::OutputBuffer> {
    NB_TYPE_CASTER(lance::OutputBuffer, const_name("collections.abc.Buffer"))
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        return value.acquire(source.ptr(), PyBUF_WRITABLE);
    }
};

template <>
struct type_caster<lance::Count> {
    NB_TYPE_CASTER(lance::Count, const_name("int"))
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept { return value.acquire(source.ptr()); }
};

}  // namespace nanobind::detail
