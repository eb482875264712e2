// Compiled without exceptions: with them, a cleanup handler is a destructor, and unwinding has to read this frame.
#include "bind/interpreter_lock.h"

#ifdef _WIN32
#define pthread_cleanup_push(routine, argument)
#define pthread_cleanup_pop(execute)
#else
#include <pthread.h>
#include <unistd.h>

namespace {

void wait_for_the_end(void*) {
    for (;;) pause();
}

}  // namespace
#endif

namespace lance {

void take_lock(PyThreadState* state) noexcept {
    pthread_cleanup_push(wait_for_the_end, nullptr);
    PyEval_RestoreThread(state);
    pthread_cleanup_pop(0);
}

PyGILState_STATE take_lock() noexcept {
    PyGILState_STATE state;
    pthread_cleanup_push(wait_for_the_end, nullptr);
    state = PyGILState_Ensure();
    pthread_cleanup_pop(0);
    return state;
}

}  // namespace lance
