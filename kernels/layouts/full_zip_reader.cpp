// Entries with lengths are walked; those without are found by number.
#include "layouts/full_zip_reader.h"

#include <algorithm>

#include "encodings/append_symbols.h"
#include "encodings/decode.h"
#include "encodings/fsst.h"
#include "encodings/variable.h"
#include "layouts/entries.h"
#include "predicates/passed_ranges.h"

namespace lance {

namespace {

// The definition levels of some rows, u16; nothing if there are none.
class RowLevels {
  public:
    RowLevels(bool has_levels, int64_t count)
        : levels_(has_levels ? PooledBuffer(multiply(count, 2)) : PooledBuffer()), size_(has_levels ? 2 * count : 0) {}

    void set(int64_t row, uint16_t level) {
        if (size_ > 0) store(levels_.data() + 2 * row, level);
    }
    MutableBytes bytes() const { return {levels_.data(), static_cast<size_t>(size_)}; }

  private:
    PooledBuffer levels_;
    int64_t size_;
};

}  // namespace

FullZipReader::FullZipReader(const FullZipValues& values, int64_t num_rows,
                             std::optional<std::vector<int64_t>> row_starts)
    : values_(values),
      num_rows_(num_rows),
      shape_(0, values.bits_def, UINT16_MAX, values.value_bytes, values.length_bytes) {
    if (values.num_levels > 0 && values.bits_def == 0) fail("NULLs without definition levels");
    if (is_fixed() != !row_starts || is_fixed() == values.format.variable)
        fail("values of another kind than the column");
    if (values.compression && (is_fixed() || !values.symbol_table.empty()))
        fail("compressed values that are no strings");
    if (is_fixed()) {
        if (values.value_bytes < 1 || multiply(values.value_bytes, 8) != values.format.bits) {
            fail("values of ", values.value_bytes, " bytes as ", values.format.bits, " bits");
        }
        multiply(num_rows, stride());
        return;
    }
    if (!values.symbol_table.empty()) SymbolTable{values.symbol_table};
    row_starts_ = std::move(*row_starts);
    if (static_cast<int64_t>(row_starts_.size()) <= num_rows) fail("row_starts has ", row_starts_.size(), " rows");
    int64_t before = 0;
    for (const int64_t start : row_starts_) {
        if (start < before || start > kMaxCount) fail("a row begins at ", start, " after one at ", before);
        before = start;
    }
}

std::pair<int64_t, int64_t> FullZipReader::bytes_of(const Ranges& rows) const {
    const auto [first, end] = rows.bounds();
    if (first == end) return {0, 0};
    return {start_of(first), start_of(end)};
}

void FullZipReader::require_bytes(const PageBytes& bytes, int64_t num_rows) const {
    const int64_t needed = multiply(num_rows, is_fixed() ? stride() : shape_.control_bytes);
    if (needed > bytes.size()) fail(num_rows, " values of at least ", needed, " bytes in ", bytes.size());
}

void FullZipReader::read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    if (is_fixed()) {
        read_fixed(bytes, rows, out);
    } else if (values_.compression) {
        read_compressed(bytes, rows, out);
    } else {
        read_variable(bytes, rows, out);
    }
}

void FullZipReader::require_level(int64_t level) const {
    if (level > values_.num_levels) fail("level ", level, " of values with ", values_.num_levels, " levels");
}

// Last, for it counts the rows in.
void FullZipReader::add_rows(Bytes levels, int64_t count, ColumnBuilder& out) const {
    if (levels.empty()) {
        out.add_valid(count);
        return;
    }
    int64_t num_valid = 0;
    uint16_t highest = 0;
    BitWriter& validity = out.validity();
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t now = std::min<int64_t>(64, count - i);
        uint64_t bits = 0;
        for (int64_t k = 0; k < now; ++k) {
            const auto level = load<uint16_t>(levels.data() + 2 * (i + k));
            highest = std::max(highest, level);
            bits |= uint64_t{level == 0} << k;
        }
        num_valid += count_ones(bits);
        validity.append(bits, now);
    }
    require_level(highest);
    out.add_rows(count, num_valid);
}

void FullZipReader::read_fixed(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    const int64_t count = rows.num_items();
    const RowLevels levels(values_.bits_def > 0, count);
    std::optional<MutableBytes> to_levels;
    if (values_.bits_def > 0) to_levels = levels.bytes();
    unzip_fixed(bytes.data, bytes.start, rows, values_.bits_def, values_.value_bytes, out.values(count), to_levels);
    add_rows(levels.bytes(), count, out);
}

template <class Visit>
void FullZipReader::for_each_entry(const PageBytes& bytes, const Ranges& rows, Visit visit) const {
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t row = rows.start(i); row < rows.end(i); ++row) {
            const int64_t start = start_of(row) - bytes.start;
            const int64_t end = start_of(row + 1) - bytes.start;
            if (start < 0) fail("row ", row, " is not among the bytes from ", bytes.start, " on");
            ZipCursor cursor(bytes.data, start, end, shape_);
            const ZipEntry entry = cursor.next();
            if (!cursor.at_end()) fail("row ", row, " does not end where the next one begins");
            visit(position++, entry);
        }
    }
}

void FullZipReader::read_variable(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    const int64_t count = rows.num_items();
    RowLevels levels(values_.bits_def > 0, count);
    int64_t total = 0;
    for_each_entry(bytes, rows, [&](int64_t i, const ZipEntry& entry) {
        levels.set(i, entry.def);
        total += entry.value_bytes;
    });
    const bool has_symbols = !values_.symbol_table.empty();
    // Codes are moved together first: they are decoded across values.
    const int64_t offset_bits = has_symbols ? 64 : values_.format.bits;
    PooledBuffer codes;
    PooledBuffer code_offsets;
    MutableBytes to;
    MutableBytes offsets;
    if (has_symbols) {
        codes = PooledBuffer(total);
        code_offsets = PooledBuffer(multiply(count + 1, 8));
        to = {codes.data(), static_cast<size_t>(total)};
        offsets = {code_offsets.data(), static_cast<size_t>(8 * (count + 1))};
    } else {
        offsets = out.offsets(count);
        to = out.bytes(total);
    }
    const int64_t before = has_symbols ? 0 : out.num_bytes();
    with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(before + total);
        store(offsets.data(), static_cast<Offset>(before));
        int64_t done = 0;
        for_each_entry(bytes, rows, [&](int64_t i, const ZipEntry& entry) {
            copy(to.data() + done, bytes.data.data() + entry.value_start, entry.value_bytes);
            done += entry.value_bytes;
            store(offsets.data() + (i + 1) * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(before + done));
        });
    });
    if (has_symbols) {
        append_symbols(count, total, expansion_, out, [&](int64_t row, MutableBytes out_offsets, MutableBytes all) {
            return fsst_values(offsets, 64, count, to, values_.symbol_table, row, out_offsets, values_.format.bits,
                               all);
        });
    } else {
        out.add_bytes(total);
    }
    add_rows(levels.bytes(), count, out);
}

// Memory grows with the decoded values, not with their claimed size.
void FullZipReader::read_compressed(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    const Compression compression = *values_.compression;
    const int64_t count = rows.num_items();
    RowLevels levels(values_.bits_def > 0, count);
    const auto value_of = [&](const ZipEntry& entry) {
        return bytes.data.subspan(static_cast<size_t>(entry.value_start), static_cast<size_t>(entry.value_bytes));
    };
    std::vector<int64_t> sizes(static_cast<size_t>(count));
    int64_t total = 0;
    for_each_entry(bytes, rows, [&](int64_t i, const ZipEntry& entry) {
        levels.set(i, entry.def);
        sizes[static_cast<size_t>(i)] = decompressed_size(compression, value_of(entry));
        total += sizes[static_cast<size_t>(i)];
    });
    const MutableBytes offsets = out.offsets(count);
    out.bytes(std::min(total, kTrustedBytes));
    with_offset(values_.format.bits, [&](auto offset) {
        using Offset = decltype(offset);
        require_offset<Offset>(out.num_bytes() + total);
        store(offsets.data(), static_cast<Offset>(out.num_bytes()));
        for_each_entry(bytes, rows, [&](int64_t i, const ZipEntry& entry) {
            const int64_t size = sizes[static_cast<size_t>(i)];
            decompress(compression, value_of(entry), out.bytes(size).first(static_cast<size_t>(size)));
            out.add_bytes(size);
            store(offsets.data() + (i + 1) * static_cast<int64_t>(sizeof(Offset)),
                  static_cast<Offset>(out.num_bytes()));
        });
    });
    add_rows(levels.bytes(), count, out);
}

void FullZipReader::mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const {
    require_output(flags, rows.num_items(), "flags");
    const auto* validity = std::get_if<ValidityTest>(&test);
    if (validity == nullptr || values_.num_levels == 0) fail("full-zip values are tested for other than being NULL");
    for_each_entry(bytes, rows, [&](int64_t i, const ZipEntry& entry) {
        require_level(entry.def);
        flags[static_cast<size_t>(i)] &= static_cast<uint8_t>((entry.def == 0) == validity->is_valid);
    });
}

void FullZipReader::take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed,
                         ColumnBuilder& out) const {
    require_input(passed.flags(), rows.num_items(), "flags");
    if (passed.count() == 0) return;
    const std::vector<int64_t> pairs =
        flagged_ranges(rows, passed.flags().first(static_cast<size_t>(rows.num_items())));
    const Bytes view = as_bytes(pairs);
    read(bytes, Ranges(view, num_rows_), out);
}

std::optional<Bytes> FullZipReader::stored_values(const PageBytes& bytes, const Ranges& rows) const {
    if (!lends() || rows.size() != 1) return std::nullopt;
    const int64_t start = rows.start(0) * values_.value_bytes - bytes.start;
    const int64_t size = rows.num_items() * values_.value_bytes;
    if (start < 0 || start + size > size_of(bytes.data)) fail("rows outside of ", bytes.data.size(), " bytes");
    return bytes.data.subspan(static_cast<size_t>(start), static_cast<size_t>(size));
}

}  // namespace lance
