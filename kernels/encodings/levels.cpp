// The codecs of levels, and validity from levels.
#include "encodings/levels.h"

#include "encodings/decode.h"
#include "encodings/level_bits.h"
#include "encodings/packed.h"
#include "encodings/pieces.h"
#include "encodings/runs.h"
#include "system/bits.h"

namespace lance {

LevelEncoding::LevelEncoding(LevelCodec codec, int64_t bits) : codec(codec), num_bits(bits) {
    if (bits > 16) fail("levels of ", bits, " bits, not up to 16");
}

void decode_levels(Bytes buffer, const LevelEncoding& encoding, int64_t num_levels, uint8_t* out) {
    if (num_levels == 0) return;
    switch (encoding.codec) {
        case LevelCodec::kFlat16:
            if (size_of(buffer) < 2 * num_levels) {
                fail(num_levels, " levels of 16 bits need ", 2 * num_levels, " bytes, found ", buffer.size());
            }
            copy(out, buffer.data(), 2 * num_levels);
            return;
        case LevelCodec::kPacked: unpack_groups<uint16_t>(buffer, encoding.num_bits, num_levels, out); return;
        case LevelCodec::kInlinePacked: unpack_inline_block<uint16_t>(buffer, num_levels, out); return;
        case LevelCodec::kRle: decode_run_block<uint16_t>(buffer, num_levels, out); return;
    }
}

namespace {

// Appends the validity of the levels, returns the number of ones.
int64_t append_levels(BitWriter& out, const uint8_t* levels, int64_t num_levels, uint16_t threshold) {
    int64_t num_valid = 0;
    for (int64_t i = 0; i < num_levels; i += 64) {
        const int64_t count = std::min<int64_t>(64, num_levels - i);
        const uint64_t bits = test_levels(levels + 2 * i, count, AtMost{threshold});
        num_valid += count_ones(bits);
        out.append(bits, count);
    }
    return num_valid;
}

uint16_t to_threshold(int64_t level) { return static_cast<uint16_t>(std::min<int64_t>(level, UINT16_MAX)); }

}  // namespace

std::vector<int64_t> num_levels(const Chunks& chunks, int64_t first_chunk, int64_t end_chunk) {
    chunks.require_chunks(first_chunk, end_chunk);
    std::vector<int64_t> counts;
    for (int64_t chunk = first_chunk; chunk < end_chunk; ++chunk) counts.push_back(chunks.num_levels(chunk));
    return counts;
}

int64_t levels(const Chunks& chunks, int64_t first_chunk, int64_t end_chunk, LevelKind kind,
               const LevelEncoding& encoding, MutableBytes out) {
    chunks.require_chunks(first_chunk, end_chunk);
    int64_t position = 0;
    for (int64_t chunk = first_chunk; chunk < end_chunk; ++chunk) {
        const int64_t count = chunks.num_levels(chunk);
        require_output(out, 2 * (position + count));
        try {
            decode_levels(kind == LevelKind::kRepetition ? chunks.rep(chunk) : chunks.def(chunk), encoding, count,
                          out.data() + 2 * position);
        } catch (const std::invalid_argument& error) {
            fail("chunk ", chunk, ": ", error.what());
        }
        position += count;
    }
    return position;
}

int64_t append_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& encoding, int64_t threshold,
                        BitWriter& out) {
    PieceLevels levels(chunks, encoding);
    int64_t num_valid = 0;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        num_valid += append_levels(out, levels.of(piece), piece.size(), to_threshold(threshold));
    });
    return num_valid;
}

}  // namespace lance
