// Computes the uncompressed size of an LZ4 block without decompressing it.
#include "encodings/decode.h"

namespace lance {

namespace {

constexpr int64_t kMinMatch = 4;

// A length of 15 in the token goes on in the bytes that follow, up to one that is not 255.
int64_t length(Bytes block, int64_t nibble, int64_t& at) {
    int64_t total = nibble;
    if (nibble < 15) return total;
    for (;;) {
        if (at == size_of(block)) fail("an LZ4 block ends inside of a length");
        const uint8_t more = block[static_cast<size_t>(at++)];
        total += more;
        if (more != 255) return total;
    }
}

}  // namespace

// A block is a row of sequences: a token (literals << 4 | match - 4), literals, u16 distance; the last one ends after
// its literals.
int64_t lz4_size(Bytes block) {
    int64_t at = 0;
    int64_t total = 0;
    while (at < size_of(block)) {
        const uint8_t token = block[static_cast<size_t>(at++)];
        const int64_t literals = length(block, token >> 4, at);
        if (literals > size_of(block) - at) fail("an LZ4 block ends inside of its literals");
        at += literals;
        total += literals;
        if (at == size_of(block)) break;
        if (size_of(block) - at < 2) fail("an LZ4 block ends inside of a distance");
        at += 2;
        total += length(block, token & 15, at) + kMinMatch;
    }
    return total;
}

}  // namespace lance
