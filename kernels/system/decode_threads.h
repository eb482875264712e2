// Threads that decode batches ahead, and help with long reads; shared by the process. They never need the interpreter's
// lock; interpreter_calls.h has the threads that do.
#pragma once

#include <cstdint>
#include <functional>

namespace lance {

// Maximum number of threads; running ones stay.
void limit_decode_threads(int64_t most);

// Runs work on one of them, some time; work throws nothing. Once decoding has stopped, nothing is run.
void decode_ahead(std::function<void()> work);

// At exit: returns when no thread works or will work. Waits at most this many seconds for other threads inside a
// stream.
void stop_decoding(double most_seconds);
bool has_decoding_stopped();

// A forked process has none of the threads of its parent, and another number.
void forget_decode_threads();
uint64_t process_number();

// During its lifetime, a thread of an engine is inside a stream.
class InsideStream {
  public:
    InsideStream();
    InsideStream(const InsideStream&) = delete;
    InsideStream& operator=(const InsideStream&) = delete;
    ~InsideStream();
};

}  // namespace lance
