// Bit-packed chunks and blocks: whole groups of 1,024 values go straight into the result.
#include "encodings/decode.h"
#include "encodings/packed.h"
#include "encodings/unpack_group.h"

namespace lance {

namespace {

template <class T>
void unpack_chunks(const Chunks& chunks, const Ranges& ranges, MutableBytes out) {
    constexpr int64_t width = sizeof(T);
    require_output(out, ranges.num_items() * width);
    alignas(64) uint8_t group[kGroup * width];
    int64_t chunk_in_group = -1;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        uint8_t* to = out.data() + piece.position * width;
        if (piece.chunk == chunk_in_group) {
            copy(to, group + piece.first * width, piece.size() * width);
            return;
        }
        const Bytes values = chunks.values(piece.chunk, 0);
        if (piece.num_items > kGroup)
            fail("chunk ", piece.chunk, " holds ", piece.num_items, " values, not up to 1024");
        try {
            if (piece.whole() && piece.num_items == kGroup) {
                unpack_inline<T>(values, to);
                return;
            }
            unpack_inline<T>(values, group);
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
        chunk_in_group = piece.chunk;
        copy(to, group + piece.first * width, piece.size() * width);
    });
}

}  // namespace

void inline_bitpacking(const Chunks& chunks, const Ranges& ranges, int64_t word_bits, MutableBytes out) {
    chunks.require_buffer_index(0);
    with_word(word_bits, [&](auto word) { unpack_chunks<decltype(word)>(chunks, ranges, out); });
}

void unpack(Bytes packed, int64_t word_bits, int64_t num_bits, int64_t num_values, MutableBytes out) {
    with_word(word_bits, [&](auto word) {
        require_output(out, num_values * static_cast<int64_t>(sizeof(word)));
        unpack_groups<decltype(word)>(packed, num_bits, num_values, out.data());
    });
}

void unpack_block(Bytes packed, int64_t word_bits, int64_t num_values, MutableBytes out) {
    with_word(word_bits, [&](auto word) {
        require_output(out, num_values * static_cast<int64_t>(sizeof(word)));
        unpack_inline_block<decltype(word)>(packed, num_values, out.data());
    });
}

}  // namespace lance
