// Values are taken apart one kind of part after the other, for all values of a call.
#include "layouts/cells.h"

#include <algorithm>
#include <atomic>

#include "encodings/append_symbols.h"
#include "encodings/decode.h"
#include "encodings/fsst.h"
#include "encodings/variable.h"

namespace lance {

namespace {

using Kind = CellEncoding::Kind;

constexpr int64_t kMostItems = int64_t{1} << 32;

// Parts of `num_bits` bits at the beginning of cells that are `stride` bytes apart, without gaps.
PooledBuffer without_gaps(const uint8_t* data, int64_t stride, int64_t num_bits, int64_t count) {
    const int64_t num_bytes = bytes_for_bits(multiply(count, num_bits));
    PooledBuffer made(num_bytes);
    if (num_bits % 8 == 0) {
        for (int64_t i = 0; i < count; ++i) copy(made.data() + i * (num_bits / 8), data + i * stride, num_bits / 8);
        return made;
    }
    BitWriter bits(MutableBytes(made.data(), static_cast<size_t>(num_bytes)));
    for (int64_t i = 0; i < count; ++i) bits.append(data + i * stride, 0, num_bits);
    bits.finish();
    return made;
}

// The items of a value over all levels of lists, and the encoding of the innermost.
const CellEncoding& items_of(const CellEncoding& encoding) {
    const CellEncoding* inner = &encoding;
    while (inner->kind == Kind::kLists) inner = &inner->children.at(0);
    return *inner;
}

void append_list_levels(const CellEncoding& encoding, const ListCells& cells, size_t level, int64_t count,
                        const uint8_t* validity, ValueBuilder& out) {
    if (out.shape().kind == ValueShape::Kind::kNull) {
        out.add_null(count);
    } else if (encoding.kind == Kind::kNulls) {
        out.add_null(count);
    } else if (encoding.kind == Kind::kNumbers) {
        append_numbers(cells.items, encoding.bits, count, validity, out);
    } else {
        append_list_levels(encoding.children.at(0), cells, level + 1, multiply(count, encoding.dimension),
                           cells.bitmaps.at(level), out.child(0));
        out.add_rows(count, validity);
    }
}

// Byte strings as they are.
void append_plain(const StringCells& cells, const uint8_t* validity, ValueBuilder& out) {
    ColumnBuilder& to = out.plain();
    const int64_t count = cells.count();
    const int64_t total = cells.offsets.back() - cells.offsets.front();
    const int64_t before = to.num_bytes();
    with_offset(to.format().bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(before + total);
        uint8_t* at = to.offsets(count).data();
        for (const int64_t each : cells.offsets) {
            store(at, static_cast<Offset>(before + each - cells.offsets.front()));
            at += sizeof(Offset);
        }
    });
    if (total > 0) copy(to.bytes(total).data(), cells.data.data() + cells.offsets.front(), total);
    to.add_bytes(total);
    out.add_rows(count, validity);
}

void append_symbols_of(const CellEncoding& encoding, const StringCells& cells, const uint8_t* validity,
                       ValueBuilder& out) {
    ColumnBuilder& to = out.plain();
    std::atomic<double> expansion = 4.0;
    const Bytes offsets = as_bytes(cells.offsets);
    append_symbols(cells.count(), cells.offsets.back() - cells.offsets.front(), expansion, to,
                   [&](int64_t row, MutableBytes out_offsets, MutableBytes all) {
                       return fsst_values(offsets, 64, cells.count(), cells.data, encoding.symbol_table, row,
                                          out_offsets, to.format().bits, all);
                   });
    out.add_rows(cells.count(), validity);
}

void append_decompressed(const CellEncoding& encoding, const StringCells& cells, const uint8_t* validity,
                         ValueBuilder& out) {
    StringCells inside;
    PooledBuffer data;
    int64_t done = 0;
    for (int64_t i = 0; i < cells.count(); ++i) {
        const Bytes value = cells.value(i);
        const int64_t size = decompressed_size(encoding.compression, value);
        if (done + size > data.capacity()) data.grow(std::max(done + size, 2 * data.capacity()), done);
        decompress(encoding.compression, value, {data.data() + done, static_cast<size_t>(size)});
        done += size;
        inside.offsets.push_back(done);
    }
    inside.data = {data.data(), static_cast<size_t>(done)};
    append_strings(encoding.children.at(0), inside, validity, out);
}

// Rows of adjacent fields; the row of a NULL is empty, and its fields are zeros and empty strings.
class PackedRows {
  public:
    explicit PackedRows(const StringCells& rows) : rows_(rows), at_(rows.offsets.begin(), rows.offsets.end() - 1) {}

    // The next bytes of each row, without gaps.
    PooledBuffer take(int64_t num_bytes) {
        PooledBuffer made(multiply(count(), num_bytes));
        for (int64_t i = 0; i < count(); ++i) {
            uint8_t* to = made.data() + i * num_bytes;
            if (is_empty(i)) {
                if (num_bytes > 0) std::memset(to, 0, static_cast<size_t>(num_bytes));
            } else {
                copy(to, advance(i, num_bytes), num_bytes);
            }
        }
        return made;
    }

    // The next byte string of each row, after its length; their bytes are kept in `data`.
    StringCells take_strings(int64_t length_bits, PooledBuffer& data) {
        const PooledBuffer lengths = take(length_bits / 8);
        StringCells cells;
        int64_t total = 0;
        const auto length = [&](int64_t i) -> uint64_t {
            return length_bits == 32 ? load<uint32_t>(lengths.data() + 4 * i) : load<uint64_t>(lengths.data() + 8 * i);
        };
        for (int64_t i = 0; i < count(); ++i) {
            if (length(i) > rows_.data.size()) fail("a packed field of ", length(i), " bytes in ", rows_.data.size());
            total += static_cast<int64_t>(length(i));
            if (total > size_of(rows_.data)) fail("packed fields of more bytes than their rows");
            cells.offsets.push_back(total);
        }
        data = PooledBuffer(total);
        for (int64_t i = 0; i < count(); ++i) {
            const auto size = static_cast<int64_t>(length(i));
            copy(data.data() + cells.offsets[static_cast<size_t>(i)], advance(i, size), size);
        }
        cells.data = {data.data(), static_cast<size_t>(total)};
        return cells;
    }

    void require_end() const {
        for (int64_t i = 0; i < count(); ++i) {
            if (at_[static_cast<size_t>(i)] != rows_.offsets[static_cast<size_t>(i) + 1]) {
                fail("rows of a packed struct are longer than their fields");
            }
        }
    }

  private:
    int64_t count() const { return rows_.count(); }
    bool is_empty(int64_t i) const {
        return rows_.offsets[static_cast<size_t>(i)] == rows_.offsets[static_cast<size_t>(i) + 1];
    }
    const uint8_t* advance(int64_t i, int64_t num_bytes) {
        int64_t& at = at_[static_cast<size_t>(i)];
        if (num_bytes > rows_.offsets[static_cast<size_t>(i) + 1] - at) {
            fail("a row of a packed struct ends inside a field");
        }
        at += num_bytes;
        return rows_.data.data() + at - num_bytes;
    }

    const StringCells& rows_;
    std::vector<int64_t> at_;
};

void append_packed(const CellEncoding& encoding, const StringCells& cells, const uint8_t* validity, ValueBuilder& out) {
    PackedRows rows(cells);
    for (size_t i = 0; i < encoding.children.size(); ++i) {
        const CellEncoding& field = encoding.children[i];
        PooledBuffer data;
        if (field.is_variable()) {
            append_strings(field, rows.take_strings(encoding.field_bits[i], data), nullptr, out.child(i));
        } else {
            data = rows.take(encoding.field_bits[i] / 8);
            append_cells(field, data.data(), cells.count(), nullptr, out.child(i));
        }
    }
    rows.require_end();
    out.add_rows(cells.count(), validity);
}

void check_numbers(int64_t bits, const ValueShape& shape) {
    switch (shape.kind) {
        case ValueShape::Kind::kNull: return;
        case ValueShape::Kind::kStruct: fail("values of ", bits, " bits as structs");
        case ValueShape::Kind::kLists:
            if (shape.list_size == 0 || bits % shape.list_size != 0) {
                fail("values of ", bits, " bits as lists of ", shape.list_size, " items");
            }
            check_numbers(bits / shape.list_size, shape.children.at(0));
            return;
        case ValueShape::Kind::kPlain:
            if (shape.format.variable) fail("values of ", bits, " bits as byte strings");
            const bool is_byte = shape.format.bits == 1 && bits == 8;
            const bool is_wide = shape.narrows && bits == 128;
            if (bits != shape.format.bits && !is_byte && !is_wide) {
                fail("values of ", bits, " bits as values of ", shape.format.bits);
            }
    }
}

void check_packed(const CellEncoding& encoding, const ValueShape& shape) {
    if (shape.kind != ValueShape::Kind::kStruct || shape.children.size() != encoding.children.size()) {
        fail("a packed struct of ", encoding.children.size(), " fields as another type");
    }
    for (size_t i = 0; i < encoding.children.size(); ++i) {
        const CellEncoding& field = encoding.children[i];
        check_fit(field, shape.children[i]);
        if (encoding.kind == Kind::kFields) continue;
        const int64_t bits = encoding.field_bits.at(i);
        if (field.is_variable()) {
            if (bits != 32 && bits != 64) fail("lengths of ", bits, " bits in a packed struct");
        } else if (field.kind != Kind::kNulls && bits != 8 * bytes_of_cell(field)) {
            fail("values of ", 8 * bytes_of_cell(field), " bits in a packed field of ", bits);
        } else if (bits % 8 != 0) {
            fail("a packed field of ", bits, " bits");
        }
    }
}

}  // namespace

void check_fit(const CellEncoding& encoding, const ValueShape& shape) {
    const bool are_strings = shape.kind == ValueShape::Kind::kPlain && shape.format.variable;
    switch (encoding.kind) {
        case Kind::kNulls: return;
        case Kind::kNumbers: check_numbers(encoding.bits, shape); return;
        case Kind::kLists:
            if (bits_of(encoding) > kMostItems) fail("lists of ", bits_of(encoding), " bits");
            if (shape.kind == ValueShape::Kind::kNull) return;
            if (shape.kind != ValueShape::Kind::kLists || shape.list_size != encoding.dimension) {
                fail("lists of ", encoding.dimension, " items as another type");
            }
            check_fit(encoding.children.at(0), shape.children.at(0));
            return;
        case Kind::kFields:
        case Kind::kPacked: check_packed(encoding, shape); return;
        case Kind::kCompressed: check_fit(encoding.children.at(0), shape); return;
        case Kind::kSymbols: SymbolTable{encoding.symbol_table}; [[fallthrough]];
        case Kind::kStrings:
            if (!are_strings && shape.kind != ValueShape::Kind::kNull) fail("byte strings as another type");
    }
}

int64_t bits_of(const CellEncoding& encoding) {
    switch (encoding.kind) {
        case Kind::kNumbers: return encoding.bits;
        case Kind::kLists: return multiply(encoding.dimension, bits_of(encoding.children.at(0)));
        case Kind::kFields: {
            int64_t total = 0;
            for (const CellEncoding& each : encoding.children) total += bits_of(each);
            return total;
        }
        default: return 0;
    }
}

int64_t bytes_of_cell(const CellEncoding& encoding) {
    int64_t num_bytes = 0;
    int64_t width = 1;
    const CellEncoding* inner = &encoding;
    for (; inner->kind == Kind::kLists; inner = &inner->children.at(0)) {
        width = multiply(width, inner->dimension);
        if (inner->has_validity) num_bytes += bytes_for_bits(width);
    }
    return num_bytes + bytes_for_bits(multiply(width, bits_of(*inner)));
}

void append_numbers(const uint8_t* data, int64_t bits, int64_t count, const uint8_t* validity, ValueBuilder& out) {
    const ValueShape& shape = out.shape();
    if (shape.kind == ValueShape::Kind::kNull) {
        out.add_null(count);
        return;
    }
    if (shape.kind == ValueShape::Kind::kLists) {
        // a writer stored all items as one value
        append_numbers(data, bits / shape.list_size, multiply(count, shape.list_size), nullptr, out.child(0));
    } else if (shape.format.bits == 1 && bits == 8) {
        BitWriter& to = out.plain().bits();
        for (int64_t i = 0; i < count; ++i) to.append(data[i] != 0, 1);
    } else if (shape.format.bits == 1) {
        out.plain().bits().append(data, 0, count);
    } else if (bits == shape.format.bits) {
        copy(out.plain().values(count).data(), data, count * (bits / 8));
    } else if (!narrow_decimal(Bytes(data, static_cast<size_t>(count * 16)), count, out.plain().values(count))) {
        fail("a value does not fit a decimal of 64 bits");
    }
    out.add_rows(count, validity);
}

void append_lists(const CellEncoding& encoding, const ListCells& cells, int64_t count, const uint8_t* validity,
                  ValueBuilder& out) {
    append_list_levels(encoding, cells, 0, count, validity, out);
}

void append_cells(const CellEncoding& encoding, const uint8_t* data, int64_t count, const uint8_t* validity,
                  ValueBuilder& out) {
    if (encoding.kind == Kind::kNulls) {
        out.add_null(count);
        return;
    }
    const int64_t stride = bytes_of_cell(encoding);
    if (encoding.kind == Kind::kNumbers) {
        // single bits take a whole byte here
        append_numbers(data, 8 * stride, count, validity, out);
        return;
    }
    std::vector<PooledBuffer> held;
    ListCells cells;
    int64_t width = 1;
    int64_t at = 0;
    const auto add = [&](int64_t num_bits) {
        held.push_back(without_gaps(data + at, stride, num_bits, count));
        at += bytes_for_bits(num_bits);
        return held.back().data();
    };
    for (const CellEncoding* inner = &encoding; inner->kind == Kind::kLists; inner = &inner->children.at(0)) {
        width = multiply(width, inner->dimension);
        cells.bitmaps.push_back(inner->has_validity ? add(width) : nullptr);
    }
    cells.items = add(multiply(width, bits_of(items_of(encoding))));
    append_lists(encoding, cells, count, validity, out);
}

void append_strings(const CellEncoding& encoding, const StringCells& cells, const uint8_t* validity,
                    ValueBuilder& out) {
    if (out.shape().kind == ValueShape::Kind::kNull) {
        out.add_null(cells.count());
        return;
    }
    switch (encoding.kind) {
        case Kind::kStrings: append_plain(cells, validity, out); return;
        case Kind::kSymbols: append_symbols_of(encoding, cells, validity, out); return;
        case Kind::kCompressed: append_decompressed(encoding, cells, validity, out); return;
        case Kind::kPacked: append_packed(encoding, cells, validity, out); return;
        default: out.add_null(cells.count());
    }
}

}  // namespace lance
