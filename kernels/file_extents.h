// Parts of a local file, read into one buffer. Where few bytes of many pages are wanted, that takes a fraction of what
// touching them in a mapping does: the system maps neighbours along with each of them, and takes all of them away again.
#pragma once

#include <optional>
#include <string>

#include "buffers.h"
#include "chunks.h"

namespace lance {

struct FileBytes {
    PooledBuffer buffer;
    int64_t num_bytes;
};

// extents: int64 start and end of each part, in any order. Nothing where the file is missing, is shorter, or is not a
// plain file, and on systems that have no such reads: the caller reads it in another way, and says what is wrong.
std::optional<FileBytes> read_extents(const std::string& path, Bytes extents);

}  // namespace lance
