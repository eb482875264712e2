// Byte stream split: byte i of every value is in stream i. Joins streams into values, and splits values.
#include "encodings/decode.h"
#include "encodings/encode.h"

namespace lance {

namespace {

// Bytes j .. j + 3 of value i, of streams of num_values bytes; stream j holds byte j of each value.
uint32_t join(const uint8_t* streams, int64_t num_values, int64_t j, int64_t i) {
    const uint8_t* at = streams + j * num_values + i;
    return uint32_t{at[0]} | uint32_t{at[num_values]} << 8 | uint32_t{at[2 * num_values]} << 16 |
           uint32_t{at[3 * num_values]} << 24;
}

void join_4(const uint8_t* __restrict streams, int64_t num_values, int64_t first, int64_t last,
            uint8_t* __restrict out) {
    for (int64_t i = first; i < last; ++i) store(out + 4 * (i - first), join(streams, num_values, 0, i));
}

void join_8(const uint8_t* __restrict streams, int64_t num_values, int64_t first, int64_t last,
            uint8_t* __restrict out) {
    for (int64_t i = first; i < last; ++i) {
        store(out + 8 * (i - first), join(streams, num_values, 0, i));
        store(out + 8 * (i - first) + 4, join(streams, num_values, 4, i));
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
            case 4: join_4(values.data(), piece.num_items, piece.first, piece.last, to); break;
            case 8: join_8(values.data(), piece.num_items, piece.first, piece.last, to); break;
            default: join_bytes(values.data(), piece.num_items, num_bytes, piece.first, piece.last, to);
        }
    });
}

namespace {

// Constant widths let the compiler turn the transposition into vectors.
template <int64_t Width>
void split(const uint8_t* __restrict values, int64_t count, uint8_t* __restrict out) {
    for (int64_t j = 0; j < Width; ++j) {
        for (int64_t i = 0; i < count; ++i) out[j * count + i] = values[i * Width + j];
    }
}

}  // namespace

void split_bytes(Bytes values, int64_t width, int64_t num_values, Bytes item_starts, MutableBytes out) {
    const Starts starts(item_starts, num_values);
    require_input(values, multiply(num_values, width), "values");
    require_output(out, multiply(num_values, width));
    for (int64_t i = 0; i < starts.size(); ++i) {
        const uint8_t* from = values.data() + starts[i] * width;
        uint8_t* to = out.data() + starts[i] * width;
        const int64_t count = starts[i + 1] - starts[i];
        switch (width) {
            case 2: split<2>(from, count, to); break;
            case 4: split<4>(from, count, to); break;
            case 8: split<8>(from, count, to); break;
            case 16: split<16>(from, count, to); break;
            default: fail("values of ", width, " bytes, not 2, 4, 8 or 16");
        }
    }
}

}  // namespace lance
