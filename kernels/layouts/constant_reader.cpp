// The value is repeated; NULLs come from bits.
#include "layouts/constant_reader.h"

#include <algorithm>

#include "encodings/variable.h"
#include "predicates/passed_ranges.h"

namespace lance {

ConstantReader::ConstantReader(ColumnFormat format, int64_t num_rows, std::optional<Bytes> value,
                               std::optional<Bytes> validity)
    : format_(format), num_rows_(num_rows), value_(value), validity_(validity) {
    const int64_t width = bytes_for_bits(format.bits);
    if (value && !format.variable && size_of(*value) != width) {
        fail("a constant of ", value->size(), " bytes, expected ", width);
    }
    if (!validity) return;
    if (!value) fail("validity of rows without a value");
    require_input(*validity, bytes_for_bits(num_rows), "validity");
}

void ConstantReader::read(const PageBytes&, const Ranges& rows, ColumnBuilder& out) const {
    repeat(rows.num_items(), out);
    if (validity_) add_validity(rows, out);
}

void ConstantReader::take(const PageBytes&, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const {
    if (passed.count() == 0) return;
    repeat(passed.count(), out);
    if (!validity_) return;
    require_input(passed.flags(), rows.num_items(), "flags");
    const std::vector<int64_t> pairs =
        flagged_ranges(rows, passed.flags().first(static_cast<size_t>(rows.num_items())));
    const Bytes view = as_bytes(pairs);
    add_validity(Ranges(view, num_rows_), out);
}

void ConstantReader::mask(const PageBytes&, const Ranges& rows, const PageTest& test, MutableBytes flags) const {
    const auto* validity = std::get_if<ValidityTest>(&test);
    if (validity == nullptr || !validity_) fail("constant pages are tested once for all rows");
    require_output(flags, rows.num_items(), "flags");
    uint8_t* at = flags.data();
    for_each_bits(rows, [&](uint64_t bits, int64_t count) {
        for (int64_t i = 0; i < count; ++i) *at++ &= static_cast<uint8_t>((bits >> i & 1) == validity->is_valid);
    });
}

template <class Visit>
void ConstantReader::for_each_bits(const Ranges& rows, Visit visit) const {
    for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t row = rows.start(i); row < rows.end(i); row += 64) {
            const int64_t count = std::min<int64_t>(rows.end(i) - row, 64);
            visit(load_bits(validity_->data(), row, count), count);
        }
    }
}

// Last, for it counts the rows in.
void ConstantReader::add_validity(const Ranges& rows, ColumnBuilder& out) const {
    int64_t num_valid = 0;
    BitWriter& validity = out.validity();
    for_each_bits(rows, [&](uint64_t bits, int64_t count) {
        num_valid += count_ones(bits);
        validity.append(bits, count);
    });
    out.add_rows(rows.num_items(), num_valid);
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
    if (!value_) {
        out.add_null(count);
    } else if (!validity_) {
        out.add_valid(count);
    }
}

void ConstantReader::repeat_bits(int64_t count, uint64_t bit, ColumnBuilder& out) const {
    for (; count > 0; count -= 64) {
        const int64_t now = std::min<int64_t>(count, 64);
        out.bits().append(bit ? low_bits(now) : 0, now);
    }
}

// Copies the written part, doubling it each time.
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
