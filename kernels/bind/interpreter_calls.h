// Calls into Python from threads of engines, and releases of Python objects on threads that take no signals.
//
// Python's main thread handles a signal at its next Python instruction. In a destructor or a closing generator, an
// exception of the handler is lost: Ctrl-C would do nothing. So objects whose release runs Python code are released by
// a thread of the kernels.
//
// An engine may hold the interpreter's lock while it waits for its own thread inside a stream. That thread would wait
// for the lock forever; with a limit it gives up.
#pragma once

#include <functional>

namespace lance {

// Seconds that a thread without the interpreter's lock waits for a call while no thread gets the lock; 0 (the default)
// means forever.
void limit_wait_for_interpreter(double seconds);

// Whether waiting for the lock has a limit.
bool is_wait_limited();

// Calls `call` with the lock, waits for it, and rethrows its exceptions. After the limit, throws std::runtime_error;
// `call` may still be running or run later, so it owns everything that it uses.
void call_interpreter(std::function<void()> call);

// Calls `drop` with the lock, in another thread, and waits a moment for it; it throws nothing. Whether the lock is held
// or not.
void let_go(std::function<void()> drop);

// At exit: returns when no such thread is at work. The lock is not held.
void stop_interpreter_calls();

// A forked process has none of the threads of its parent.
void forget_interpreter_calls();

}  // namespace lance
