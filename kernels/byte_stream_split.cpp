#include "kernels.h"

namespace lance {

namespace {

// Values [first, last) of `num_streams` streams of num_values bytes; stream j holds byte j of each value.
template <class T>
void join_words(const uint8_t* streams, int64_t num_values, int64_t first, int64_t last, uint8_t* out) {
    for (int64_t i = first; i < last; ++i, out += sizeof(T)) {
        T word = 0;
        for (size_t j = 0; j < sizeof(T); ++j) word |= T{streams[static_cast<int64_t>(j) * num_values + i]} << (8 * j);
        store(out, word);
    }
}

void join_bytes(const uint8_t* streams, int64_t num_values, int64_t num_streams, int64_t first, int64_t last,
                uint8_t* out) {
    for (int64_t i = first; i < last; ++i) {
        for (int64_t j = 0; j < num_streams; ++j) *out++ = streams[j * num_values + i];
    }
}

}  // namespace

void byte_stream_split(const Chunks& chunks, const Ranges& ranges, int64_t num_bytes, MutableBytes out) {
    chunks.require_buffer_index(0);
    require_output(out, multiply(ranges.num_items(), num_bytes));
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const Bytes values = chunks.values(piece.chunk, 0);
        const int64_t needed = multiply(piece.num_items, num_bytes);
        if (size_of(values) < needed) {
            fail("chunk ", piece.chunk, ": ", num_bytes, " streams of ", piece.num_items, " bytes need ", needed,
                 ", found ", values.size());
        }
        uint8_t* to = out.data() + piece.position * num_bytes;
        switch (num_bytes) {
            case 4: join_words<uint32_t>(values.data(), piece.num_items, piece.first, piece.last, to); break;
            case 8: join_words<uint64_t>(values.data(), piece.num_items, piece.first, piece.last, to); break;
            default: join_bytes(values.data(), piece.num_items, num_bytes, piece.first, piece.last, to);
        }
    });
}

}  // namespace lance
