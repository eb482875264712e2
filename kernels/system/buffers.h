// Memory for values that are exported as Arrow arrays. While scans run it is recycled for the next batch, on whichever
// thread it is released: fresh memory costs more than decoding into it.
#pragma once

#include "system/bytes.h"

namespace lance {

// Some bytes, not initialised; their address is a multiple of 64.
class PooledBuffer {
  public:
    PooledBuffer() = default;
    explicit PooledBuffer(int64_t num_bytes);
    PooledBuffer(PooledBuffer&& other) noexcept;
    PooledBuffer& operator=(PooledBuffer&& other) noexcept;
    ~PooledBuffer();

    uint8_t* data() const { return data_; }
    // At least as many as requested.
    int64_t capacity() const { return capacity_; }

    // Room for num_bytes; the first num_used bytes stay as they are.
    void grow(int64_t num_bytes, int64_t num_used);
    // Releases the memory after the first num_used bytes, if that is most of it.
    void shrink(int64_t num_used);

  private:
    uint8_t* data_ = nullptr;
    int64_t capacity_ = 0;
};

// Recycles up to this many unused bytes from now on; more is returned to the system at once.
void keep_buffers(int64_t most_bytes);

struct KeptBuffers {
    int64_t num_kept;   // bytes that nobody holds
    int64_t num_taken;  // bytes that somebody does
};
KeptBuffers kept_buffers();

// In a forked process: begins anew, for another thread of the parent may have been inside.
void forget_buffers();

}  // namespace lance
