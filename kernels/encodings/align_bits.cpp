// Values of any number of bits, cut into chunks that each begin at a whole byte.
#include "encodings/encode.h"
#include "system/bits.h"

namespace lance {

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
