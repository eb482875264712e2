// Buffers of repetition and definition levels: u16 values in one of four codecs.
#pragma once

#include "system/bytes.h"

namespace lance {

enum class LevelCodec : int { kFlat16 = 0, kPacked = 1, kInlinePacked = 2, kRle = 3 };

struct LevelEncoding {
    LevelEncoding(LevelCodec codec, int64_t num_bits);

    LevelCodec codec;
    int64_t num_bits;  // of kPacked
};

// Writes num_levels u16 values.
void decode_levels(Bytes buffer, const LevelEncoding& encoding, int64_t num_levels, uint8_t* out);

}  // namespace lance
