// Reading, and taking the rows that passed, from the buffers of a page without levels.
#include "layouts/array_reader.h"

#include <algorithm>
#include <vector>

#include "encodings/decode.h"
#include "encodings/packed.h"
#include "encodings/variable.h"
#include "layouts/stored_buffers.h"
#include "predicates/passed_ranges.h"

namespace lance {

namespace {

// Bits [first, last) as the validity of rows; how many are ones.
int64_t append_bits(const uint8_t* bitmap, int64_t first, int64_t last, BitWriter& out) {
    int64_t num_ones = 0;
    for (; first < last; first += 64) {
        const int64_t now = std::min<int64_t>(64, last - first);
        const uint64_t bits = load_bits(bitmap, first, now);
        out.append(bits, now);
        num_ones += count_ones(bits);
    }
    return num_ones;
}

}  // namespace

ArrayReader::ArrayReader(ColumnFormat format, int64_t num_rows, int64_t size, const Content& content)
    : format_(format), num_rows_(num_rows), size_(size), content_(content) {
    if (const auto* values = std::get_if<StoredValues>(&content)) {
        if (format.variable || (format.bits != 1 && format.bits % 8 != 0)) fail("values of ", format.bits, " bits");
        check(values->values, bytes_for_bits(multiply(num_rows, format.bits)));
        if (values->validity) check(*values->validity, bytes_for_bits(num_rows));
        return;
    }
    if (!format.variable) fail("byte strings as values of fixed width");
    with_offset(format.bits, [](auto) {});
    if (const auto* strings = std::get_if<StoredStrings>(&content)) {
        check(strings->ends, multiply(num_rows, kEndBytes));
        check(strings->bytes, 0);
        return;
    }
    const auto& keys = std::get<StoredKeys>(content);
    with_word(keys.key_bits, [](auto) {});
    check(keys.keys, multiply(num_rows, keys.key_bits / 8));
    with_offset(keys.offset_bits, [&](auto offset) {
        check_offsets<decltype(offset)>(keys.offsets, keys.num_items, size_of(keys.data));
    });
}

void ArrayReader::check(const StoredBuffer& buffer, int64_t needed) const {
    if (buffer.start > size_ || buffer.size > size_ - buffer.start) {
        fail("a buffer from byte ", buffer.start, " on, of ", buffer.size, " bytes, in a page of ", size_);
    }
    if (buffer.size < needed) fail(num_rows_, " rows need ", needed, " bytes, found ", buffer.size);
}

std::pair<int64_t, int64_t> ArrayReader::bytes_of(const Ranges& rows) const {
    return {0, rows.num_items() > 0 ? size_ : 0};
}

void ArrayReader::require_bytes(const PageBytes&, int64_t) const {
    // the buffers hold all rows of the page, which was checked when it was opened
}

void ArrayReader::read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    if (rows.num_items() == 0) return;
    if (const auto* values = std::get_if<StoredValues>(&content_)) {
        read_values(*values, bytes, rows, out);
    } else if (const auto* strings = std::get_if<StoredStrings>(&content_)) {
        read_strings(*strings, bytes, rows, out);
    } else {
        look_up(std::get<StoredKeys>(content_), bytes, rows, out);
    }
}

void ArrayReader::read_values(const StoredValues& stored, const PageBytes& bytes, const Ranges& rows,
                              ColumnBuilder& out) const {
    const Bytes values = part_of(bytes, stored.values);
    if (format_.bits == 1) {
        for_each_range(rows, [&](int64_t first, int64_t last) { out.bits().append(values.data(), first, last); });
    } else {
        const int64_t width = format_.bits / 8;
        uint8_t* to = out.values(rows.num_items()).data();
        for_each_range(rows, [&](int64_t first, int64_t last) {
            copy(to, values.data() + first * width, (last - first) * width);
            to += (last - first) * width;
        });
    }
    if (!stored.validity) {
        out.add_valid(rows.num_items());
        return;
    }
    const Bytes validity = part_of(bytes, *stored.validity);
    int64_t num_valid = 0;
    for_each_range(rows, [&](int64_t first, int64_t last) {
        num_valid += append_bits(validity.data(), first, last, out.validity());
    });
    out.add_rows(rows.num_items(), num_valid);
}

void ArrayReader::read_strings(const StoredStrings& stored, const PageBytes& bytes, const Ranges& rows,
                               ColumnBuilder& out) const {
    const Bytes data = part_of(bytes, stored.bytes);
    const Ends ends(part_of(bytes, stored.ends), size_of(data), stored.null_adjustment);
    int64_t total = 0;
    for_each_range(rows, [&](int64_t first, int64_t last) {
        const int64_t size = ends.of(last - 1).position - ends.of(first - 1).position;
        if (size < 0) fail("rows ", first, " to ", last, " end before they begin");
        total += size;
    });
    // ends that go back between the ranges would have the same bytes taken again and again
    if (total > size_of(data)) fail("rows of ", total, " bytes, of which the page has ", data.size());
    const int64_t count = rows.num_items();
    const MutableBytes offsets = out.offsets(count);
    std::vector<uint8_t> validity(static_cast<size_t>(bytes_for_bits(count)) + 8);
    BitWriter bits(validity);
    int64_t num_valid = 0;
    with_offset(format_.bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(out.num_bytes() + total);
        int64_t position = out.num_bytes();
        uint8_t* to = offsets.data();
        store(to, static_cast<Offset>(position));
        for_each_range(rows, [&](int64_t first, int64_t last) {
            int64_t before = ends.of(first - 1).position;
            for (int64_t row = first; row < last; ++row) {
                const Ends::End end = ends.of(row);
                if (end.position < before) fail("row ", row, " ends before it begins");
                position += end.position - before;
                before = end.position;
                to += sizeof(Offset);
                store(to, static_cast<Offset>(position));
                bits.append(!end.is_null, 1);
                num_valid += !end.is_null;
            }
        });
    });
    uint8_t* to = out.bytes(total).data();
    for_each_range(rows, [&](int64_t first, int64_t last) {
        const int64_t start = ends.of(first - 1).position;
        const int64_t size = ends.of(last - 1).position - start;
        copy(to, data.data() + start, size);
        to += size;
    });
    out.add_bytes(total);
    if (num_valid == count) {
        out.add_valid(count);
        return;
    }
    bits.finish();
    append_bits(validity.data(), 0, count, out.validity());
    out.add_rows(count, num_valid);
}

void ArrayReader::look_up(const StoredKeys& stored, const PageBytes& bytes, const Ranges& rows,
                          ColumnBuilder& out) const {
    const Bytes all = part_of(bytes, stored.keys);
    const int64_t count = rows.num_items();
    const int64_t width = stored.key_bits / 8;
    const PooledBuffer held(multiply(count, width));
    uint8_t* to = held.data();
    for_each_range(rows, [&](int64_t first, int64_t last) {
        copy(to, all.data() + first * width, (last - first) * width);
        to += (last - first) * width;
    });
    const Bytes keys(held.data(), static_cast<size_t>(count * width));
    check_indices(keys, stored.key_bits, count, stored.num_items);
    const MutableBytes offsets = out.offsets(count);
    const int64_t total = gather_variable_offsets(keys, stored.key_bits, count, stored.offsets, stored.offset_bits,
                                                  stored.num_items, offsets, format_.bits);
    raise_offsets(format_.bits, offsets, count, out.num_bytes(), total);
    gather_variable_bytes(keys, stored.key_bits, count, stored.offsets, stored.offset_bits, stored.num_items,
                          stored.data, out.bytes(total));
    out.add_bytes(total);
    if (!stored.first_is_null) {
        out.add_valid(count);
        return;
    }
    int64_t num_valid = 0;
    BitWriter& bits = out.validity();
    with_word(stored.key_bits, [&](auto word) {
        for (int64_t i = 0; i < count; ++i) {
            const bool is_valid = load<decltype(word)>(keys.data() + i * width) != 0;
            bits.append(is_valid, 1);
            num_valid += is_valid;
        }
    });
    out.add_rows(count, num_valid);
}

void ArrayReader::take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const {
    require_input(passed.flags(), rows.num_items(), "flags");
    const std::vector<int64_t> pairs =
        flagged_ranges(rows, passed.flags().first(static_cast<size_t>(rows.num_items())));
    const Bytes view = as_bytes(pairs);
    read(bytes, Ranges(view, num_rows_), out);
}

bool ArrayReader::lends() const {
    const auto* stored = std::get_if<StoredValues>(&content_);
    return stored != nullptr && !stored->validity && format_.bits > 1;
}

std::optional<Bytes> ArrayReader::stored_values(const PageBytes& bytes, const Ranges& rows) const {
    if (!lends() || rows.size() != 1) return std::nullopt;
    const int64_t width = format_.bits / 8;
    return part_of(bytes, std::get<StoredValues>(content_).values)
        .subspan(static_cast<size_t>(rows.start(0) * width), static_cast<size_t>(rows.num_items() * width));
}

}  // namespace lance
