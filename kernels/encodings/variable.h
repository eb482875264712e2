// Values of variable width in a mini-block chunk: n + 1 offsets from the start of the buffer, then the bytes.
#pragma once

#include <array>

#include "encodings/chunks.h"

namespace lance {

// Whether num_values + 1 offsets never fall.
template <class Offset>
bool rises(const uint8_t* offsets, int64_t num_values) {
    const auto offset = [&](int64_t i) { return load<Offset>(offsets + i * static_cast<int64_t>(sizeof(Offset))); };
    // With all offsets in the lower half of their type, a step down is one with the highest bit set; this much
    // is vectors of any processor.
    Offset seen = offset(0);
    for (int64_t i = 0; i < num_values; ++i) seen |= offset(i + 1) | (offset(i + 1) - offset(i));
    if (seen >> (8 * sizeof(Offset) - 1) == 0) return true;
    bool all = true;
    for (int64_t i = 0; i < num_values; ++i) all &= offset(i) <= offset(i + 1);
    return all;
}

// The value buffer of one chunk.
template <class Offset>
class VariableChunk {
  public:
    VariableChunk() = default;
    VariableChunk(const Chunks& chunks, const Piece& piece) : values_(chunks.values(piece.chunk, 0)) {
        const int64_t needed = (piece.num_items + 1) * static_cast<int64_t>(sizeof(Offset));
        if (size_of(values_) < needed) {
            fail("chunk ", piece.chunk, ": the offsets of ", piece.num_items, " values need ", needed, " bytes, found ",
                 values_.size());
        }
    }

    // Origin of the offsets.
    const uint8_t* start() const { return values_.data(); }
    // From there on.
    int64_t num_bytes() const { return size_of(values_); }
    const uint8_t* offsets(int64_t item) const { return values_.data() + item * sizeof(Offset); }
    Offset offset(int64_t item) const { return load<Offset>(offsets(item)); }

    // The bytes of the items of a piece, after a check of the first and the last offset only.
    Bytes bytes(const Piece& piece) const {
        const Offset first = offset(piece.first);
        const Offset last = offset(piece.last);
        if (first > last || first < (static_cast<uint64_t>(piece.num_items) + 1) * sizeof(Offset) ||
            last > values_.size()) {
            fail("chunk ", piece.chunk, ": the offsets ", first, " to ", last, " of values ", piece.first, " to ",
                 piece.last, " do not rise inside of ", values_.size(), " bytes");
        }
        return values_.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    }

    // The bytes of the items, after a check of all offsets.
    Bytes checked_bytes(const Piece& piece) const {
        if (!rises<Offset>(offsets(piece.first), piece.size())) {
            fail("chunk ", piece.chunk, ": the offsets of values ", piece.first, " to ", piece.last, " do not rise");
        }
        return bytes(piece);
    }

  private:
    Bytes values_;
};

// The chunk of each piece; many pieces may be in one chunk. Their bytes must not overlap: otherwise each could claim
// nearly all of the chunk, which would be copied repeatedly.
template <class Offset>
class VariableChunks {
  public:
    explicit VariableChunks(const Chunks& chunks) : chunks_(chunks) {}

    const VariableChunk<Offset>& of(const Piece& piece) {
        if (piece.chunk != number_) {
            chunk_ = VariableChunk<Offset>(chunks_, piece);
            number_ = piece.chunk;
        } else if (chunk_.offset(piece.first) < end_) {
            fail("chunk ", piece.chunk, ": value ", piece.first, " begins before one that is in front of it ends");
        }
        end_ = chunk_.offset(piece.last);
        return chunk_;
    }

  private:
    const Chunks& chunks_;
    VariableChunk<Offset> chunk_;
    int64_t number_ = -1;
    Offset end_ = 0;  // of the piece before
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

// The largest offset to be written: what Arrow's signed offsets of this width hold, or a count.
template <class Offset>
constexpr int64_t max_offset = sizeof(Offset) == 4 ? int64_t{INT32_MAX} : kMaxCount;

template <class Offset>
void require_offset(int64_t total) {
    if (total > max_offset<Offset>) fail("values of ", total, " bytes do not fit ", 8 * sizeof(Offset), "-bit offsets");
}

// Refuses num_values + 1 offsets that do not rise within num_bytes.
template <class Offset>
void check_offsets(Bytes offsets, int64_t num_values, int64_t num_bytes) {
    constexpr int64_t width = sizeof(Offset);
    require_input(offsets, (num_values + 1) * width, "offsets");
    const Offset last = load<Offset>(offsets.data() + num_values * width);
    if (!rises<Offset>(offsets.data(), num_values) || last > static_cast<uint64_t>(num_bytes)) {
        fail("offsets that end at ", last, " do not rise inside of ", num_bytes, " bytes");
    }
}

// Adds a base to num_values + 1 offsets that begin at 0. added: the last of them
inline void raise_offsets(int64_t offset_bits, MutableBytes offsets, int64_t num_values, int64_t before,
                          int64_t added) {
    with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(before + added);
        if (before == 0) return;
        const auto raised = [&](Offset each) { return static_cast<Offset>(each + static_cast<Offset>(before)); };
        uint8_t* at = offsets.data();
        const uint8_t* const end = at + (num_values + 1) * static_cast<int64_t>(sizeof(Offset));
        // All of some are read before one is written: they may become vectors.
        std::array<Offset, 8> some;
        for (; end - at >= static_cast<int64_t>(sizeof(some)); at += sizeof(some)) {
            some = load<std::array<Offset, 8>>(at);
            for (Offset& each : some) each = raised(each);
            store(at, some);
        }
        for (; at < end; at += sizeof(Offset)) store(at, raised(load<Offset>(at)));
    });
}

}  // namespace lance
