// Row masks, and decimals that fit 64 bits.
#include <algorithm>
#include <bit>

#include "encodings/decode.h"
#include "system/bits.h"

namespace lance {

std::vector<int64_t> mask_to_ranges(Bytes bitmap, int64_t bit_offset, int64_t num_bits) {
    require_input(bitmap, bytes_for_bits(bit_offset + num_bits), "the bitmap");
    std::vector<int64_t> ranges;
    bool inside = false;
    for (int64_t i = 0; i < num_bits; i += 64) {
        const int64_t count = std::min<int64_t>(64, num_bits - i);
        // Ones mark the start or the end of a run.
        const uint64_t word = load_bits(bitmap.data(), bit_offset + i, count);
        uint64_t edges = (word ^ (word << 1 | static_cast<uint64_t>(inside))) & low_bits(count);
        for (; edges != 0; edges &= edges - 1) ranges.push_back(i + std::countr_zero(edges));
        inside = (word >> (count - 1) & 1) != 0;
    }
    if (inside) ranges.push_back(num_bits);
    return ranges;
}

bool narrow_decimal(Bytes values, int64_t num_values, MutableBytes out) {
    require_input(values, 16 * num_values, "values");
    require_output(out, 8 * num_values);
    uint64_t lost = 0;
    for (int64_t i = 0; i < num_values; ++i) {
        const auto low = load<int64_t>(values.data() + 16 * i);
        const auto high = load<int64_t>(values.data() + 16 * i + 8);
        lost |= static_cast<uint64_t>(high ^ (low >> 63));
        store(out.data() + 8 * i, low);
    }
    return lost == 0;
}

}  // namespace lance
