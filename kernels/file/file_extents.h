// Reads parts of a local file into one buffer. For few bytes of many pages, this takes a fraction of the time of
// touching a mapping, for which the system maps and unmaps neighboring pages as well.
#pragma once

#include <optional>
#include <string>

#include "encodings/chunks.h"
#include "system/buffers.h"
#include "system/descriptor.h"

namespace lance {

// extents: int64 start and end of each part, in any order. Returns nothing if the file is missing, shorter, or not a
// plain file, or if the system lacks such reads: the caller reads it in another way, and reports the error.
std::optional<PooledBuffer> read_extents(const std::string& path, Bytes extents);

// The last bytes of a local file, or all of a shorter one. Nothing if it is missing, or is not a plain file.
class FileTail {
  public:
    FileTail(const std::string& path, int64_t most_bytes);

    std::optional<int64_t> file_size() const { return size_; }
    int64_t num_bytes() const { return num_bytes_; }
    // False if the file became shorter.
    bool read(uint8_t* to) const;

  private:
    Descriptor descriptor_;
    std::optional<int64_t> size_;
    int64_t num_bytes_ = 0;
};

}  // namespace lance
