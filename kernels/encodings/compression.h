// Buffers that are compressed as opaque bytes.
//
// LZ4: u32 uncompressed size, then one raw block. Zstandard: u64 uncompressed size, then one frame, or the frame alone.
// The libraries are those of the system, opened at the first use; if one is missing, Python decompresses.
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

// Maximum size to which a buffer of this many bytes can decompress.
int64_t most_decompressed(Compression compression, int64_t num_bytes);

// The uncompressed size that the buffer claims; rejected if no compressor can reach that ratio.
int64_t decompressed_size(Compression compression, Bytes buffer);

// Fills `to`, which has decompressed_size(buffer) bytes; rejects a buffer with other contents or another size.
void decompress(Compression compression, Bytes buffer, MutableBytes to);

// The name and the version of the library; empty without one.
std::string library_of(Compression compression);

// Replacement of a missing library: returns the decompressed bytes, or throws InvalidData.
using Decompress = std::string (*)(Compression compression, Bytes buffer);
void set_fallback(Decompress fallback);

// For tests: as if there were no libraries.
void use_libraries(bool are_used);

}  // namespace lance
