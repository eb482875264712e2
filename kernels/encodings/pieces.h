// The values and the definition levels of pieces of chunks, decoded one chunk at a time into memory that stays in a
// cache.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "encodings/packed.h"
#include "encodings/unpack_group.h"
#include "encodings/value_codec.h"

namespace lance {

struct FixedWidthEncoding {
    // Refuses byte strings, and values of other bits than 8, 16, 32, 64 and 128.
    FixedWidthEncoding(ValueCodec codec, int64_t num_bits);

    ValueCodec codec;
    int64_t num_bits;  // of a value
};

// The values of pieces of chunks, decoded unless they are stored plain.
class PieceValues {
  public:
    // Both outlive this object.
    PieceValues(const Chunks& chunks, const FixedWidthEncoding& encoding);

    // Valid until the next call.
    const uint8_t* of(const Piece& piece);

    // Whether what `of` finds is not decoded, and stays valid.
    bool are_stored() const { return encoding_.codec == ValueCodec::kFlat; }

    // Whether single values of the piece can be found without the others.
    bool has_places(const Piece& piece) const {
        return encoding_.codec == ValueCodec::kInlineBitpacking && piece.chunk != chunk_in_group_;
    }

    template <class Word>
    PackedGroup<Word> group(const Piece& piece) const {
        return PackedGroup<Word>(packed(piece));
    }

  private:
    Bytes packed(const Piece& piece) const;
    const uint8_t* flat_values(const Piece& piece) const;
    const uint8_t* unpacked_values(const Piece& piece);
    const uint8_t* decoded_values(const Piece& piece);

    const Chunks& chunks_;
    const FixedWidthEncoding& encoding_;
    int64_t width_;
    int64_t chunk_in_group_ = -1;
    alignas(64) std::array<uint8_t, kGroup * 8> group_;
    std::vector<uint8_t> decoded_;
};

// The definition levels of pieces of chunks of a page without lists.
class PieceLevels {
  public:
    // Both outlive this object.
    PieceLevels(const Chunks& chunks, const LevelEncoding& encoding);

    // u16 for each item of the piece; valid until the next call.
    const uint8_t* of(const Piece& piece);

  private:
    static constexpr int64_t kMostItems = UINT16_MAX;  // the number of levels of a chunk is a u16

    const Chunks& chunks_;
    const LevelEncoding& encoding_;
    std::unique_ptr<uint8_t[]> levels_;
    int64_t chunk_ = -1;
};

}  // namespace lance
