// Entries of one width become levels and values.
#include "layouts/zip.h"

#include "encodings/decode.h"
#include "encodings/variable.h"
#include "layouts/entries.h"

namespace lance {

void unzip_fixed(Bytes data, int64_t data_start, const Ranges& ranges, int64_t bits_def, int64_t value_bytes,
                 MutableBytes out_values, std::optional<MutableBytes> out_def) {
    const ZipShape shape(0, bits_def, UINT16_MAX, value_bytes, 0);
    const int64_t stride = shape.control_bytes + value_bytes;
    require_output(out_values, multiply(ranges.num_items(), value_bytes), "out_values");
    if (out_def) require_output(*out_def, 2 * ranges.num_items(), "out_def");
    int64_t row = 0;
    for (int64_t i = 0; i < ranges.size(); ++i) {
        const int64_t num_rows = ranges.end(i) - ranges.start(i);
        const int64_t start = multiply(ranges.start(i), stride) - data_start;
        const int64_t end = multiply(ranges.end(i), stride) - data_start;
        if (start < 0 || end > size_of(data)) {
            fail("rows ", ranges.start(i), " to ", ranges.end(i), " of ", stride, " bytes are not in bytes ",
                 data_start, " to ", data_start + size_of(data));
        }
        const uint8_t* from = data.data() + start;
        uint8_t* values = out_values.data() + row * value_bytes;
        if (shape.control_bytes == 0) {
            copy(values, from, num_rows * value_bytes);
            if (out_def && num_rows > 0) std::memset(out_def->data() + 2 * row, 0, static_cast<size_t>(2 * num_rows));
            row += num_rows;
            continue;
        }
        const uint64_t mask = low_bits(bits_def);
        for (int64_t j = 0; j < num_rows; ++j, ++row, from += stride, values += value_bytes) {
            if (out_def) {
                const uint16_t control = shape.control_bytes == 1 ? *from : load<uint16_t>(from);
                store(out_def->data() + 2 * row, static_cast<uint16_t>(control & mask));
            }
            copy(values, from + shape.control_bytes, value_bytes);
        }
    }
}

}  // namespace lance
