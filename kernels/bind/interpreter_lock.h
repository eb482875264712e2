// Takes the interpreter's lock, also while the process ends.
//
// Before Python 3.14, a thread that asks for the lock while the process ends is ended there, by pthread_exit. It
// unwinds the stack, and must not reach a frame of C++: destructors would run without the lock, and a module that has a
// C++ runtime of its own, as in a wheel, cannot read the unwinder's state. Here such a thread waits for the end
// instead.
#pragma once

#include <Python.h>

namespace lance {

// As PyEval_RestoreThread.
void take_lock(PyThreadState* state) noexcept;

// As PyGILState_Ensure.
PyGILState_STATE take_lock() noexcept;

}  // namespace lance
