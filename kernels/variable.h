// Values of variable width in a mini-block chunk: n + 1 offsets from the start of the buffer, then the bytes.
#pragma once

#include "chunks.h"

namespace lance {

// The value buffer of one chunk. Offsets are only trusted after check().
template <class Offset>
class VariableChunk {
  public:
    VariableChunk() = default;
    VariableChunk(const Chunks& chunks, const Piece& piece) : values_(chunks.values(piece.chunk, 0)) {
        const int64_t needed = (piece.num_items + 1) * static_cast<int64_t>(sizeof(Offset));
        if (size_of(values_) < needed) {
            fail("chunk ", piece.chunk, ": the offsets of ", piece.num_items, " values need ", needed,
                 " bytes, found ", values_.size());
        }
    }

    const uint8_t* offsets(int64_t item) const { return values_.data() + item * sizeof(Offset); }
    Offset offset(int64_t item) const { return load<Offset>(offsets(item)); }

    // The bytes of the items of a piece, after a check that the offsets rise within the buffer.
    Bytes bytes(const Piece& piece) const {
        const Offset first = offset(piece.first);
        const Offset last = offset(piece.last);
        bool rises = true;
        for (int64_t i = piece.first; i < piece.last; ++i) rises &= offset(i) <= offset(i + 1);
        if (!rises || first < (static_cast<uint64_t>(piece.num_items) + 1) * sizeof(Offset) || last > values_.size()) {
            fail("chunk ", piece.chunk, ": the offsets ", first, " to ", last, " of values ", piece.first, " to ",
                 piece.last, " do not rise inside of ", values_.size(), " bytes");
        }
        return values_.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    }

  private:
    Bytes values_;
};

// Calls visit(Offset{}) with the unsigned type of offsets of that many bits.
template <class Visit>
decltype(auto) with_offset(int64_t offset_bits, Visit visit) {
    switch (offset_bits) {
        case 32: return visit(uint32_t{});
        case 64: return visit(uint64_t{});
        default: fail("offsets of ", offset_bits, " bits, not 32 or 64");
    }
}

// The largest offset that Arrow's signed offsets of this width can hold.
template <class Offset>
constexpr int64_t max_offset = static_cast<int64_t>(static_cast<Offset>(~Offset{0}) >> 1);

template <class Offset>
void require_offset(int64_t total) {
    if (total > max_offset<Offset>) fail("values of ", total, " bytes do not fit ", 8 * sizeof(Offset), "-bit offsets");
}

// Refuses num_values + 1 offsets that do not rise within num_bytes.
template <class Offset>
void check_offsets(Bytes offsets, int64_t num_values, int64_t num_bytes) {
    constexpr int64_t width = sizeof(Offset);
    require_input(offsets, (num_values + 1) * width, "offsets");
    bool rises = true;
    for (int64_t i = 0; i < num_values; ++i) {
        rises &= load<Offset>(offsets.data() + i * width) <= load<Offset>(offsets.data() + (i + 1) * width);
    }
    const Offset last = load<Offset>(offsets.data() + num_values * width);
    if (!rises || last > static_cast<uint64_t>(num_bytes)) {
        fail("offsets that end at ", last, " do not rise inside of ", num_bytes, " bytes");
    }
}

}  // namespace lance
