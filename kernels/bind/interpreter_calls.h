// Python, called by threads of engines, and let go of by threads that take no signals.
//
// A signal is handled by Python's main thread, at the next instruction of Python that it comes to. If that is one of a
// destructor or of a generator that is closed, what the handler raises is lost: Ctrl-C would do nothing. So what runs
// code of Python when it is let go of is let go of by a thread of the kernels.
//
// An engine may hold the interpreter's lock while it waits for a thread of its own that is inside of a stream. That
// thread would wait for the lock for ever: with a limit it gives up.
#pragma once

#include <functional>

namespace lance {

// How many seconds a thread that does not hold the interpreter's lock waits for a call while nobody gets the lock; 0,
// as at first, for ever.
void limit_wait_for_interpreter(double seconds);

// Whether waiting for the lock has a limit.
bool is_wait_limited();

// Calls `call` with the lock, and returns when it has returned; throws what it throws. Where the limit has passed,
// throws std::runtime_error, and `call` may be running or come later: it holds what it uses.
void call_interpreter(std::function<void()> call);

// Calls `drop` with the lock, in another thread, and waits a moment for it; it throws nothing. Whether the lock is held
// or not.
void let_go(std::function<void()> drop);

// At exit: returns when no such thread is at work. The lock is not held.
void stop_interpreter_calls();

// A forked process has none of the threads of its parent.
void forget_interpreter_calls();

}  // namespace lance
