// Values that are stored as they are: bytes are copied, bits are shifted, and chunks begin at whole bytes.
#include "encodings/decode.h"
#include "encodings/encode.h"
#include "system/bits.h"

namespace lance {

namespace {

Bytes flat_values(const Chunks& chunks, const Piece& piece, int64_t buffer_index, int64_t bits_per_value) {
    const Bytes values = chunks.values(piece.chunk, buffer_index);
    const int64_t needed = bytes_for_bits(multiply(piece.num_items, bits_per_value));
    if (size_of(values) < needed) {
        fail("chunk ", piece.chunk, ": ", bits_per_value, " bits x ", piece.num_items, " needs ", needed,
             " bytes, found ", values.size());
    }
    return values;
}

}  // namespace

void flat(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value, MutableBytes out) {
    chunks.require_buffer_index(buffer_index);
    require_output(out, bytes_for_bits(multiply(ranges.num_items(), bits_per_value)));
    if (bits_per_value % 8 == 0) {
        const int64_t width = bits_per_value / 8;
        for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
            const Bytes values = flat_values(chunks, piece, buffer_index, bits_per_value);
            copy(out.data() + piece.position * width, values.data() + piece.first * width, piece.size() * width);
        });
        return;
    }
    BitWriter bits(out);
    append_flat_bits(chunks, ranges, buffer_index, bits_per_value, bits);
    bits.finish();
}

void append_flat_bits(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value,
                      BitWriter& out) {
    chunks.require_buffer_index(buffer_index);
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const Bytes values = flat_values(chunks, piece, buffer_index, bits_per_value);
        out.append(values.data(), piece.first * bits_per_value, piece.last * bits_per_value);
    });
}

void align_bits(Bytes bits, int64_t bits_per_value, int64_t num_values, Bytes item_starts, Bytes out_starts,
                MutableBytes out) {
    const Starts starts(item_starts, num_values);
    const Starts bytes(out_starts, size_of(out));
    require_input(bits, bytes_for_bits(multiply(num_values, bits_per_value)), "bits");
    if (bytes.size() != starts.size()) fail(bytes.size(), " parts for ", starts.size(), " chunks");
    for (int64_t i = 0; i < starts.size(); ++i) {
        const int64_t size = bytes[i + 1] - bytes[i];
        const int64_t first = starts[i] * bits_per_value;
        const int64_t last = starts[i + 1] * bits_per_value;
        if (size != bytes_for_bits(last - first)) fail("chunk ", i, " of ", last - first, " bits in ", size, " bytes");
        BitWriter writer(out.subspan(static_cast<size_t>(bytes[i]), static_cast<size_t>(size)));
        writer.append(bits.data(), first, last);
        writer.finish();
    }
}

}  // namespace lance
