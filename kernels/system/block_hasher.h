// The hashes of the blocks of a file that is written piece by piece.
#pragma once

#include <mutex>
#include <vector>

#include "system/xxhash.h"

namespace lance {

// Thread-safe.
class BlockHasher {
  public:
    explicit BlockHasher(int64_t block_bytes);

    void update(Bytes data);
    // The hashes of all blocks, the last of which may be shorter: 8 bytes each, little endian.
    std::vector<uint8_t> finish() const;

  private:
    mutable std::mutex mutex_;
    int64_t block_bytes_;
    StreamingHash block_;
    std::vector<uint8_t> hashes_;
};

}  // namespace lance
