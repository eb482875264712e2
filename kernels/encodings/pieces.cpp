// A group that was unpacked stays for the next piece of it.
#include "encodings/pieces.h"

#include "encodings/decode.h"

namespace lance {

FixedWidthEncoding::FixedWidthEncoding(ValueCodec codec, int64_t bits) : codec(codec), num_bits(bits) {
    if (!has_fixed_width(codec)) fail("values of codec ", static_cast<int>(codec), " have no fixed width");
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) {
        fail("values of ", bits, " bits, not 8, 16, 32, 64 or 128");
    }
}

PieceValues::PieceValues(const Chunks& chunks, const FixedWidthEncoding& encoding)
    : chunks_(chunks), encoding_(encoding), width_(encoding.num_bits / 8) {
    chunks.require_buffer_index(encoding.codec == ValueCodec::kRle ? 1 : 0);
}

const uint8_t* PieceValues::of(const Piece& piece) {
    switch (encoding_.codec) {
        case ValueCodec::kFlat: return flat_values(piece);
        case ValueCodec::kInlineBitpacking: return unpacked_values(piece);
        case ValueCodec::kByteStreamSplit:
        case ValueCodec::kRle: return decoded_values(piece);
        case ValueCodec::kVariable:
        case ValueCodec::kFsst:
        case ValueCodec::kOther: break;  // refused before
    }
    return nullptr;
}

const uint8_t* PieceValues::flat_values(const Piece& piece) const {
    const Bytes values = chunks_.values(piece.chunk, 0);
    const int64_t needed = multiply(piece.num_items, width_);
    if (size_of(values) < needed) {
        fail("chunk ", piece.chunk, ": ", encoding_.num_bits, " bits x ", piece.num_items, " needs ", needed,
             " bytes, found ", values.size());
    }
    return values.data() + piece.first * width_;
}

Bytes PieceValues::packed(const Piece& piece) const {
    if (piece.num_items > kGroup) fail("chunk ", piece.chunk, " holds ", piece.num_items, " values, not up to 1024");
    return chunks_.values(piece.chunk, 0);
}

const uint8_t* PieceValues::unpacked_values(const Piece& piece) {
    if (piece.chunk != chunk_in_group_) {
        const Bytes values = packed(piece);
        try {
            with_word(encoding_.num_bits, [&](auto word) { unpack_inline<decltype(word)>(values, group_.data()); });
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
        chunk_in_group_ = piece.chunk;
    }
    return group_.data() + piece.first * width_;
}

const uint8_t* PieceValues::decoded_values(const Piece& piece) {
    const int64_t start = chunks_.table().item_starts()[static_cast<size_t>(piece.chunk)];
    const std::array<int64_t, 2> items = {start + piece.first, start + piece.last};
    const Ranges ranges({reinterpret_cast<const uint8_t*>(items.data()), sizeof(items)}, chunks_.table().num_items());
    decoded_.resize(static_cast<size_t>(multiply(piece.size(), width_)));
    if (encoding_.codec == ValueCodec::kRle) {
        rle(chunks_, ranges, encoding_.num_bits, decoded_);
    } else {
        byte_stream_split(chunks_, ranges, width_, decoded_);
    }
    return decoded_.data();
}

PieceLevels::PieceLevels(const Chunks& chunks, const LevelEncoding& encoding)
    : chunks_(chunks), encoding_(encoding), levels_(std::make_unique_for_overwrite<uint8_t[]>(2 * kMostItems)) {}

const uint8_t* PieceLevels::of(const Piece& piece) {
    if (piece.chunk != chunk_) {
        const int64_t count = chunks_.num_levels(piece.chunk);
        if (count != piece.num_items) {
            fail("chunk ", piece.chunk, " has ", count, " levels for ", piece.num_items, " items");
        }
        try {
            decode_levels(chunks_.def(piece.chunk), encoding_, count, levels_.get());
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
        chunk_ = piece.chunk;
    }
    return levels_.get() + 2 * piece.first;
}

}  // namespace lance
