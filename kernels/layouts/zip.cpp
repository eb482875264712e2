// Entries become levels, lengths and values.
#include "layouts/zip.h"

#include "encodings/decode.h"
#include "encodings/variable.h"
#include "layouts/entries.h"

namespace lance {

ZipSize unzip_scan(Bytes data, int64_t start, int64_t end, const ZipShape& shape) {
    ZipSize size;
    for (ZipCursor cursor(data, start, end, shape); !cursor.at_end();) {
        const ZipEntry entry = cursor.next();
        size.num_entries += 1;
        size.num_visible += entry.visible;
        size.num_bytes += entry.value_bytes;
    }
    return size;
}

namespace {

template <class OutOffset>
ZipSize unzip_entries(Bytes data, int64_t start, int64_t end, const ZipShape& shape, const ZipOutput& out) {
    constexpr int64_t width = sizeof(OutOffset);
    ZipSize size;
    if (out.offsets) {
        require_output(*out.offsets, width, "out_offsets");
        store<OutOffset>(out.offsets->data(), 0);
    }
    for (ZipCursor cursor(data, start, end, shape); !cursor.at_end();) {
        const ZipEntry entry = cursor.next();
        if (out.rep) {
            require_output(*out.rep, 2 * (size.num_entries + 1), "out_rep");
            store(out.rep->data() + 2 * size.num_entries, entry.rep);
        }
        if (out.def) {
            require_output(*out.def, 2 * (size.num_entries + 1), "out_def");
            store(out.def->data() + 2 * size.num_entries, entry.def);
        }
        size.num_entries += 1;
        if (!entry.visible) continue;
        require_output(out.values, size.num_bytes + entry.value_bytes, "out_values");
        copy(out.values.data() + size.num_bytes, data.data() + entry.value_start, entry.value_bytes);
        size.num_bytes += entry.value_bytes;
        size.num_visible += 1;
        if (out.offsets) {
            require_output(*out.offsets, (size.num_visible + 1) * width, "out_offsets");
            require_offset<OutOffset>(size.num_bytes);
            store(out.offsets->data() + size.num_visible * width, static_cast<OutOffset>(size.num_bytes));
        }
    }
    return size;
}

}  // namespace

ZipSize unzip(Bytes data, int64_t start, int64_t end, const ZipShape& shape, const ZipOutput& out,
              int64_t out_offset_bits) {
    return with_offset(out_offset_bits,
                       [&](auto offset) { return unzip_entries<decltype(offset)>(data, start, end, shape, out); });
}

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

namespace {

// The entries that begin at `row_starts`: one per row, without lists.
template <class Visit>
void for_each_row(Bytes data, Bytes row_starts, int64_t num_rows, const ZipShape& shape, Visit visit) {
    require_input(row_starts, 8 * num_rows, "row_starts");
    for (int64_t i = 0; i < num_rows; ++i) {
        const auto start = load<int64_t>(row_starts.data() + 8 * i);
        if (start < 0 || start > size_of(data)) fail("row start ", start, " is not in ", data.size(), " bytes");
        visit(i, ZipCursor(data, start, size_of(data), shape).next());
    }
}

template <class OutOffset>
int64_t row_offsets(Bytes data, Bytes row_starts, int64_t num_rows, const ZipShape& shape,
                    std::optional<MutableBytes> out_def, MutableBytes out_offsets) {
    constexpr int64_t width = sizeof(OutOffset);
    if (out_def) require_output(*out_def, 2 * num_rows, "out_def");
    require_output(out_offsets, (num_rows + 1) * width, "out_offsets");
    store<OutOffset>(out_offsets.data(), 0);
    int64_t total = 0;
    for_each_row(data, row_starts, num_rows, shape, [&](int64_t i, const ZipEntry& entry) {
        total += entry.value_bytes;
        require_offset<OutOffset>(total);
        if (out_def) store(out_def->data() + 2 * i, entry.def);
        store(out_offsets.data() + (i + 1) * width, static_cast<OutOffset>(total));
    });
    return total;
}

}  // namespace

int64_t unzip_row_offsets(Bytes data, Bytes row_starts, int64_t num_rows, int64_t bits_def, int64_t length_bytes,
                          std::optional<MutableBytes> out_def, MutableBytes out_offsets, int64_t out_offset_bits) {
    if (length_bytes == 0) fail("rows of fixed width have no lengths");
    const ZipShape shape(0, bits_def, UINT16_MAX, 0, length_bytes);
    return with_offset(out_offset_bits, [&](auto offset) {
        return row_offsets<decltype(offset)>(data, row_starts, num_rows, shape, out_def, out_offsets);
    });
}

int64_t unzip_row_bytes(Bytes data, Bytes row_starts, int64_t num_rows, int64_t bits_def, int64_t length_bytes,
                        MutableBytes out) {
    if (length_bytes == 0) fail("rows of fixed width have no lengths");
    const ZipShape shape(0, bits_def, UINT16_MAX, 0, length_bytes);
    int64_t total = 0;
    for_each_row(data, row_starts, num_rows, shape, [&](int64_t, const ZipEntry& entry) {
        require_output(out, total + entry.value_bytes);
        copy(out.data() + total, data.data() + entry.value_start, entry.value_bytes);
        total += entry.value_bytes;
    });
    return total;
}

}  // namespace lance
