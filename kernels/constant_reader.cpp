#include "constant_reader.h"

#include <algorithm>

#include "variable.h"

namespace lance {

ConstantReader::ConstantReader(ColumnFormat format, int64_t num_rows, std::optional<Bytes> value)
    : format_(format), num_rows_(num_rows), value_(value) {
    const int64_t width = bytes_for_bits(format.bits);
    if (value && !format.variable && size_of(*value) != width) {
        fail("a constant of ", value->size(), " bytes, expected ", width);
    }
}

void ConstantReader::read(const PageBytes&, const Ranges& rows, ColumnBuilder& out) const {
    repeat(rows.num_items(), out);
}

void ConstantReader::take(const PageBytes&, const Ranges&, const PassedRows& passed, ColumnBuilder& out) const {
    repeat(passed.count(), out);
}

void ConstantReader::mask(const PageBytes&, const Ranges&, const PageTest&, MutableBytes) const {
    fail("constant pages are tested once for all rows");
}

void ConstantReader::repeat(int64_t count, ColumnBuilder& out) const {
    if (format_.variable) {
        repeat_string(value_.value_or(Bytes()), count, out);
    } else if (format_.bits == 1) {
        repeat_bits(count, value_ ? uint64_t{value_->front()} & 1 : 0, out);
    } else {
        const MutableBytes to = out.values(count);
        if (value_) {
            repeat_bytes(*value_, count, to.data());
        } else {
            std::memset(to.data(), 0, to.size());
        }
    }
    if (value_) {
        out.add_valid(count);
    } else {
        out.add_null(count);
    }
}

void ConstantReader::repeat_bits(int64_t count, uint64_t bit, ColumnBuilder& out) const {
    for (; count > 0; count -= 64) {
        const int64_t now = std::min<int64_t>(count, 64);
        out.bits().append(bit ? low_bits(now) : 0, now);
    }
}

// What has been written is copied, twice as much every time.
void ConstantReader::repeat_bytes(Bytes value, int64_t count, uint8_t* to) const {
    const int64_t total = multiply(size_of(value), count);
    if (total == 0) return;
    copy(to, value.data(), size_of(value));
    for (int64_t done = size_of(value); done < total;) {
        const int64_t now = std::min(done, total - done);
        copy(to + done, to, now);
        done += now;
    }
}

void ConstantReader::repeat_string(Bytes value, int64_t count, ColumnBuilder& out) const {
    const int64_t total = multiply(size_of(value), count);
    const MutableBytes offsets = out.offsets(count);
    with_offset(format_.bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(out.num_bytes() + total);
        for (int64_t i = 0; i <= count; ++i) {
            store(offsets.data() + i * static_cast<int64_t>(sizeof(Offset)),
                  static_cast<Offset>(out.num_bytes() + i * size_of(value)));
        }
    });
    repeat_bytes(value, count, out.bytes(total).data());
    out.add_bytes(total);
}

}  // namespace lance
