// Parts of a local file, read into one buffer. Where few bytes of many pages are wanted, that takes a fraction of what
// touching them in a mapping does: the system maps neighbours along with each of them, and takes all of them away
// again.
#pragma once

#include <optional>
#include <string>

#include "encodings/chunks.h"
#include "system/buffers.h"
#include "system/descriptor.h"

namespace lance {

// extents: int64 start and end of each part, in any order. Nothing where the file is missing, is shorter, or is not a
// plain file, and on systems that have no such reads: the caller reads it in another way, and says what is wrong.
std::optional<PooledBuffer> read_extents(const std::string& path, Bytes extents);

// The last bytes of a local file, or all of a shorter one. Nothing where it is missing, or is not a plain file.
class FileTail {
  public:
    FileTail(const std::string& path, int64_t most_bytes);

    std::optional<int64_t> file_size() const { return size_; }
    int64_t num_bytes() const { return num_bytes_; }
    // False where the file became shorter.
    bool read(uint8_t* to) const;

  private:
    Descriptor descriptor_;
    std::optional<int64_t> size_;
    int64_t num_bytes_ = 0;
};

}  // namespace lance
