// Runs are written out; pieces begin in the middle of one.
#include "encodings/runs.h"

#include <optional>

#include "encodings/decode.h"
#include "encodings/unpack_group.h"

namespace lance {

void rle(const Chunks& chunks, const Ranges& ranges, int64_t value_bits, MutableBytes out) {
    chunks.require_buffer_index(1);
    with_word(value_bits, [&](auto word) {
        using T = decltype(word);
        constexpr int64_t width = sizeof(T);
        require_output(out, ranges.num_items() * width);
        std::optional<RunCursor> cursor;
        int64_t chunk_of_cursor = -1;
        for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
            if (piece.chunk != chunk_of_cursor) {
                try {
                    cursor.emplace(
                        Runs(chunks.values(piece.chunk, 0), chunks.values(piece.chunk, 1), width, piece.num_items));
                } catch (const std::invalid_argument& error) {
                    fail("chunk ", piece.chunk, ": ", error.what());
                }
                chunk_of_cursor = piece.chunk;
            }
            cursor->template decode<T>(piece.first, piece.last, out.data() + piece.position * width);
        });
    });
}

void rle_block(Bytes buffer, int64_t value_bits, int64_t num_values, MutableBytes out) {
    with_word(value_bits, [&](auto word) {
        using T = decltype(word);
        require_output(out, num_values * static_cast<int64_t>(sizeof(T)));
        decode_run_block<T>(buffer, num_values, out.data());
    });
}

}  // namespace lance
