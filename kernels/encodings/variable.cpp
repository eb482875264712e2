// Offsets are made to count from the beginning of the result; bytes of a chunk are copied at once.
#include "encodings/variable.h"

#include "encodings/decode.h"

namespace lance {

namespace {

template <class Offset, class OutOffset>
int64_t offsets_of(const Chunks& chunks, const Ranges& ranges, MutableBytes out) {
    constexpr int64_t width = sizeof(OutOffset);
    require_output(out, (ranges.num_items() + 1) * width, "out_offsets");
    store<OutOffset>(out.data(), 0);
    int64_t total = 0;
    VariableChunks<Offset> variable(chunks);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const VariableChunk<Offset>& chunk = variable.of(piece);
        const int64_t num_bytes = size_of(chunk.checked_bytes(piece));
        require_offset<OutOffset>(total + num_bytes);
        // Wraps around if the chunk's offsets are larger than the output's; the sum is still exact.
        const auto shift = static_cast<OutOffset>(total - static_cast<int64_t>(chunk.offset(piece.first)));
        uint8_t* to = out.data() + (piece.position + 1) * width;
        for (int64_t i = piece.first + 1; i <= piece.last; ++i, to += width) {
            store<OutOffset>(to, static_cast<OutOffset>(static_cast<OutOffset>(chunk.offset(i)) + shift));
        }
        total += num_bytes;
    });
    return total;
}

template <class Offset>
int64_t bytes_of(const Chunks& chunks, const Ranges& ranges, MutableBytes out) {
    int64_t total = 0;
    VariableChunks<Offset> variable(chunks);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const Bytes bytes = variable.of(piece).bytes(piece);
        require_output(out, total + size_of(bytes));
        copy(out.data() + total, bytes.data(), size_of(bytes));
        total += size_of(bytes);
    });
    return total;
}

template <class Offset>
int64_t num_bytes_of(const Chunks& chunks, const Ranges& ranges) {
    int64_t total = 0;
    VariableChunks<Offset> variable(chunks);
    for_each_piece(chunks.table(), ranges,
                   [&](const Piece& piece) { total += size_of(variable.of(piece).bytes(piece)); });
    return total;
}

}  // namespace

int64_t variable_offsets(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, MutableBytes out_offsets,
                         int64_t out_offset_bits) {
    chunks.require_buffer_index(0);
    return with_offset(offset_bits, [&](auto offset) {
        return with_offset(out_offset_bits, [&](auto out_offset) {
            return offsets_of<decltype(offset), decltype(out_offset)>(chunks, ranges, out_offsets);
        });
    });
}

int64_t variable_bytes(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, MutableBytes out) {
    chunks.require_buffer_index(0);
    return with_offset(offset_bits, [&](auto offset) { return bytes_of<decltype(offset)>(chunks, ranges, out); });
}

int64_t num_variable_bytes(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits) {
    chunks.require_buffer_index(0);
    return with_offset(offset_bits, [&](auto offset) { return num_bytes_of<decltype(offset)>(chunks, ranges); });
}

}  // namespace lance
