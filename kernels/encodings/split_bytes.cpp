// Byte stream split: stream j of a chunk holds byte j of its values.
#include "encodings/encode.h"

namespace lance {

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
