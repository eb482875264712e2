// Buffers that are compressed as opaque bytes.
//
// LZ4: u32 uncompressed size, then one raw block. Zstandard: u64 uncompressed size, then one frame, or the frame alone.
// The libraries are those of the system, opened when they are first needed; where one is missing, Python decompresses.
#pragma once

#include <string>

#include "system/bytes.h"

namespace lance {

enum class Compression : int {
    kLz4 = 0,
    kZstd = 1,
};

// So many bytes are taken at once for what buffers claim to become; more only as they do become it.
constexpr int64_t kTrustedBytes = int64_t{64} << 20;

// The most bytes that a buffer of so many can become.
int64_t most_decompressed(Compression compression, int64_t num_bytes);

// How many bytes the buffer says it becomes; refused where no compressor can have made that of it.
int64_t decompressed_size(Compression compression, Bytes buffer);

// Fills `to`, which has decompressed_size(buffer) bytes; refused where the buffer holds others or more or fewer.
void decompress(Compression compression, Bytes buffer, MutableBytes to);

// The name and the version of the library; empty where there is none.
std::string library_of(Compression compression);

// What takes the place of a missing library: the bytes that the buffer becomes, or InvalidData.
using Decompress = std::string (*)(Compression compression, Bytes buffer);
void set_fallback(Decompress fallback);

// For tests: as if there were no libraries.
void use_libraries(bool are_used);

}  // namespace lance
