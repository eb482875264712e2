// The hashes of the blocks of a file that is written piece by piece.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "system/xxhash.h"

namespace lance {

// Thread-safe.
class BlockHasher {
  public:
    explicit BlockHasher(int64_t block_bytes) : block_bytes_(block_bytes) {
        if (block_bytes < 1) fail("blocks of ", block_bytes, " bytes");
    }

    // Blocks begin and end anywhere in the given bytes.
    void update(Bytes data) {
        const std::scoped_lock lock(mutex_);
        while (!data.empty()) {
            const auto room = static_cast<size_t>(block_bytes_ - block_.num_bytes());
            const size_t count = std::min(room, data.size());
            block_.update(data.first(count));
            data = data.subspan(count);
            if (count < room) continue;
            append(hashes_, block_.finish());
            block_ = StreamingHash();
        }
    }

    // The hashes of all blocks, the last of which may be shorter: 8 bytes each, little endian.
    std::vector<uint8_t> finish() const {
        const std::scoped_lock lock(mutex_);
        std::vector<uint8_t> hashes = hashes_;
        if (block_.num_bytes() > 0) append(hashes, block_.finish());
        return hashes;
    }

  private:
    static void append(std::vector<uint8_t>& hashes, uint64_t hash) {
        hashes.resize(hashes.size() + 8);
        store(hashes.data() + hashes.size() - 8, hash);
    }

    mutable std::mutex mutex_;
    int64_t block_bytes_;
    StreamingHash block_;
    std::vector<uint8_t> hashes_;
};

}  // namespace lance
