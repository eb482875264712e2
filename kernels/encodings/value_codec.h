// Encodings of the values of mini-block pages.
#pragma once

namespace lance {

enum class ValueCodec : int {
    kFlat = 0,
    kInlineBitpacking = 1,
    kByteStreamSplit = 2,
    kRle = 3,
    kVariable = 4,
    kFsst = 5,
    kOther = 6,  // only whether values are NULL is known
};

// Whether all values take the same number of bits.
constexpr bool has_fixed_width(ValueCodec codec) { return codec < ValueCodec::kVariable; }

}  // namespace lance
