// Threads that decode batches ahead of whoever wants them, and help with long readings; all of the process share them.
// They never need the interpreter's lock; interpreter_calls.h has the threads that do.
#pragma once

#include <cstdint>
#include <functional>

namespace lance {

// How many there are at most; those that run already stay.
void limit_decode_threads(int64_t most);

// Runs work on one of them, some time; work throws nothing. Once decoding has stopped, nothing is run.
void decode_ahead(std::function<void()> work);

// At exit: returns when no thread is at work and none will be, except for those of others inside of a stream, which
// are waited for at most so many seconds.
void stop_decoding(double most_seconds);
bool has_decoding_stopped();

// A forked process has none of the threads of its parent, and another number.
void forget_decode_threads();
uint64_t process_number();

// While one lives, a thread of somebody else is inside of a stream.
class InsideStream {
  public:
    InsideStream();
    InsideStream(const InsideStream&) = delete;
    InsideStream& operator=(const InsideStream&) = delete;
    ~InsideStream();
};

}  // namespace lance
