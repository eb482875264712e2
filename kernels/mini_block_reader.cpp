#include "mini_block_reader.h"

#include <array>
#include <bit>
#include <limits>

#include "fsst.h"
#include "kernels.h"
#include "string_matching.h"

namespace lance {

namespace {

// A batch of codes is given this much more room than the one before has needed, and a whole chunk's worth.
constexpr double kHeadroom = 1.1;
constexpr int64_t kSlack = 64 * 1024;
constexpr int64_t kMostExpansion = 8;

// Of rows that pass in runs of fewer than this on average, and that are more than one in so many, all are decoded.
constexpr int64_t kRowsPerRun = 8;

// The rows of `rows` that have a flag, as ranges.
std::vector<int64_t> flagged_ranges(const Ranges& rows, Bytes flags) {
    std::vector<int64_t> found;
    int64_t position = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        const int64_t start = rows.start(i);
        const int64_t count = rows.end(i) - start;
        const uint8_t* at = flags.data() + position;
        int64_t k = 0;
        while (k < count) {
            if (k + 8 <= count && load<uint64_t>(at + k) == 0) {
                k += 8;
                continue;
            }
            if (at[k] == 0) {
                ++k;
                continue;
            }
            const int64_t first = k;
            while (k < count && at[k] != 0) ++k;
            found.insert(found.end(), {start + first, start + k});
        }
        position += count;
    }
    return found;
}

int64_t count_runs(Bytes flags) {
    int64_t runs = 0;
    uint8_t before = 0;
    for (const uint8_t flag : flags) {
        runs += flag > before;
        before = flag;
    }
    return runs;
}

// Releases an array in the end.
class OwnedArray {
  public:
    explicit OwnedArray(ArrowArray& array) : array_(array) {}
    OwnedArray(const OwnedArray&) = delete;
    OwnedArray& operator=(const OwnedArray&) = delete;
    ~OwnedArray() { array_.release(&array_); }

  private:
    ArrowArray& array_;
};

// Moves the strings that have a flag to the front.
template <class Offset>
int64_t compact_strings(const uint8_t* from_offsets, const uint8_t* from, Bytes flags, uint8_t* to_offsets, uint8_t* to,
                        int64_t position) {
    constexpr int64_t width = sizeof(Offset);
    const auto offset = [&](size_t i) { return load<Offset>(from_offsets + static_cast<int64_t>(i) * width); };
    int64_t size = 0;
    int64_t row = 1;
    size_t i = 0;
    while (i < flags.size()) {
        if (flags[i] == 0) {
            ++i;
            continue;
        }
        const size_t first = i;
        const Offset start = offset(first);
        for (; i < flags.size() && flags[i] != 0; ++i, ++row) {
            store(to_offsets + row * width, static_cast<Offset>(position + size + static_cast<int64_t>(offset(i + 1) - start)));
        }
        const auto length = static_cast<int64_t>(offset(i) - start);
        copy(to + size, from + start, length);
        size += length;
    }
    return size;
}

}  // namespace

MiniBlockReader::MiniBlockReader(const ChunkTable& table, const MiniBlockValues& values)
    : table_(table), values_(values) {
    const auto codec = static_cast<int64_t>(values.codec);
    if (codec > 6) fail("value codec ", codec, " is not 0 to 6");
    if (values.codec == PageCodec::kOther) return;
    if (values.codec == PageCodec::kInlineBitpacking || values.codec == PageCodec::kRle) with_word(values.bits, [](auto) {});
    const ColumnFormat& format = values.format;
    if (values.dictionary) {
        const DictionaryItems& items = *values.dictionary;
        if (!is_fixed() || values.bits == 128) fail("indices of codec ", codec, " with ", values.bits, " bits");
        if (values.keeps_indices) {
            if (format != ColumnFormat{false, 32}) fail("indices are delivered in 32 bits, not ", format.bits);
            if (items.num_items > int64_t{INT32_MAX} + 1) fail(items.num_items, " items are more than 32 bits count");
            return;
        }
        if (items.variable != format.variable) fail("items of another kind than the column");
        if (!items.variable) {
            if (items.bits != format.bits || items.bits % 8 != 0) fail("items of ", items.bits, " bits as ", format.bits);
            require_input(items.data, multiply(items.num_items, items.bits / 8), "items");
            return;
        }
        with_offset(items.bits, [&](auto offset) {
            check_offsets<decltype(offset)>(items.offsets, items.num_items, size_of(items.data));
        });
        if (ShortStrings::fit(items)) strings_ = std::make_unique<ShortStrings>(items);
        return;
    }
    if (values.keeps_indices) fail("indices without a dictionary");
    if (is_variable() != format.variable) fail("values of another kind than the column");
    if (is_variable()) {
        if (values.codec == PageCodec::kFsst) SymbolTable{values.symbol_table};
        with_offset(values.bits, [](auto) {});
        return;
    }
    const bool narrows = values.bits == 128 && format.bits == 64;
    if (!narrows && values.bits != format.bits) fail("values of ", values.bits, " bits as ", format.bits);
    if (values.codec != PageCodec::kFlat && !is_fixed()) fail("values of ", values.bits, " bits in codec ", codec);
}

Chunks MiniBlockReader::chunks(const PageBytes& bytes) const {
    const Chunks chunks(table_, bytes.data, bytes.start);
    if (!bytes.replaced) return chunks;
    return chunks.with_first_buffer(bytes.replaced->first_chunk, bytes.replaced->data, bytes.replaced->offsets);
}

std::pair<int64_t, int64_t> MiniBlockReader::bytes_of(const Ranges& rows) const {
    int64_t first = kMaxCount;
    int64_t last = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows.start(i) == rows.end(i)) continue;
        first = std::min(first, rows.start(i));
        last = rows.end(i);
    }
    if (first >= last) return {0, 0};
    const std::vector<int64_t>& offsets = table_.byte_offsets();
    const int64_t first_chunk = table_.chunk_of(first);
    return {offsets[static_cast<size_t>(first_chunk)],
            offsets[static_cast<size_t>(table_.chunk_of(last - 1, first_chunk)) + 1]};
}

void MiniBlockReader::require_bytes(const PageBytes& bytes, int64_t num_rows) const {
    if (values_.codec != PageCodec::kFlat && values_.codec != PageCodec::kByteStreamSplit) return;
    if (bytes_for_bits(multiply(num_rows, values_.bits)) > bytes.size()) {
        fail(num_rows, " values of ", values_.bits, " bits in chunks of ", bytes.size(), " bytes");
    }
}

void MiniBlockReader::read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    if (values_.codec == PageCodec::kOther) fail("values of a codec that is not known");
    const Chunks chunks = this->chunks(bytes);
    if (is_looked_up()) {
        look_up(chunks, rows, out);
    } else if (values_.codec == PageCodec::kVariable) {
        read_strings(chunks, rows, out);
    } else if (values_.codec == PageCodec::kFsst) {
        read_symbols(chunks, rows, out);
    } else {
        read_plain(chunks, rows, out);
    }
    read_validity(chunks, rows, out);
}

// Last, for it counts the rows in.
void MiniBlockReader::read_validity(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    if (!values_.definition) {
        out.add_valid(rows.num_items());
        return;
    }
    out.add_rows(rows.num_items(), append_validity(chunks, rows, *values_.definition, 0, out.validity()));
}

void MiniBlockReader::read_plain(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    if (values_.format.bits == 1) {
        append_flat_bits(chunks, rows, 0, 1, out.bits());
    } else {
        decode_fixed(chunks, rows, out.values(rows.num_items()));
    }
}

// What chunks hold is decoded one chunk at a time, and stays in a cache until it is looked up or narrowed.
void MiniBlockReader::look_up(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const FixedWidthEncoding encoding = fixed_encoding();
    PieceValues values(chunks, encoding);
    Lookup lookup(*this, rows.num_items(), out);
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        const Bytes decoded(values.of(piece), static_cast<size_t>(piece.size() * (values_.bits / 8)));
        try {
            lookup.add(decoded, piece.size());
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
    });
    lookup.finish();
}

void MiniBlockReader::decode_fixed(const Chunks& chunks, const Ranges& rows, MutableBytes out) const {
    switch (values_.codec) {
        case PageCodec::kFlat: flat(chunks, rows, 0, values_.bits, out); break;
        case PageCodec::kInlineBitpacking: inline_bitpacking(chunks, rows, values_.bits, out); break;
        case PageCodec::kByteStreamSplit: byte_stream_split(chunks, rows, values_.bits / 8, out); break;
        case PageCodec::kRle: rle(chunks, rows, values_.bits, out); break;
        case PageCodec::kVariable:
        case PageCodec::kFsst:
        case PageCodec::kOther: fail("byte strings have no fixed width");
    }
}

void MiniBlockReader::read_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const MutableBytes offsets = out.offsets(rows.num_items());
    const int64_t total = variable_offsets(chunks, rows, values_.bits, offsets, values_.format.bits);
    raise_offsets(values_.format.bits, offsets, rows.num_items(), out.num_bytes(), total);
    variable_bytes(chunks, rows, values_.bits, out.bytes(total));
    out.add_bytes(total);
}

void MiniBlockReader::read_symbols(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const int64_t count = rows.num_items();
    const MutableBytes offsets = out.offsets(count);
    const int64_t compressed = num_variable_bytes(chunks, rows, values_.bits);
    const int64_t most = multiply(compressed, kMostExpansion) + 2 * kMostExpansion;
    const double guess = static_cast<double>(compressed) * expansion_.load(std::memory_order_relaxed) * kHeadroom;
    int64_t room = std::min(most, static_cast<int64_t>(guess) + kSlack);
    int64_t row = 0;
    int64_t size = 0;
    for (;;) {
        // What has been decoded counts as bytes, so that it moves along when the buffer grows.
        out.add_bytes(size);
        const MutableBytes rest = out.bytes(room - size);
        out.add_bytes(-size);
        const MutableBytes all(rest.data() - size, rest.size() + static_cast<size_t>(size));
        const FsstProgress done = fsst(chunks, rows, values_.bits, values_.symbol_table, row, offsets,
                                       values_.format.bits, all);
        row = done.num_rows;
        size = done.num_bytes;
        if (row == count) break;
        if (room >= most) fail("FSST codes stand for more bytes than they can");
        room = std::min(most, std::max(2 * room, size * count / std::max<int64_t>(row, 1)) + kSlack);
    }
    if (compressed > 0) {
        expansion_.store(static_cast<double>(size) / static_cast<double>(compressed), std::memory_order_relaxed);
    }
    raise_offsets(values_.format.bits, offsets, count, out.num_bytes(), size);
    out.add_bytes(size);
}

void MiniBlockReader::mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const {
    require_output(flags, rows.num_items(), "flags");
    const Chunks chunks = this->chunks(bytes);
    if (const auto* validity = std::get_if<ValidityTest>(&test)) {
        if (!values_.definition) fail("a page without definition levels is tested for NULL");
        match_validity(chunks, rows, *values_.definition, validity->is_valid, flags);
    } else if (const auto* strings = std::get_if<StringTest>(&test)) {
        mask_strings(bytes, rows, *strings, flags.first(static_cast<size_t>(rows.num_items())));
    } else if (!is_fixed()) {
        fail("values that have no keys are tested");
    } else if (const auto* range = std::get_if<RangeTest>(&test)) {
        if (values_.dictionary) fail("indices are not tested as values");
        match_range(chunks, rows, fixed_encoding(), range->keys, values_.definition, flags);
    } else {
        const Bytes answers = std::get<ItemsTest>(test).answers;
        if (!values_.dictionary || size_of(answers) != values_.dictionary->num_items) {
            fail(answers.size(), " answers are not as many as the dictionary has items");
        }
        match_items(chunks, rows, fixed_encoding(), answers, values_.definition, flags);
    }
}

// Strings of which tests before have left few runs are decoded alone.
void MiniBlockReader::mask_strings(const PageBytes& bytes, const Ranges& rows, const StringTest& test,
                                   MutableBytes flags) const {
    if (!is_variable()) fail("values of fixed width are tested as strings");
    const int64_t num_left = count_flags(flags);
    if (num_left == 0) return;
    const bool is_sparse = num_left < rows.num_items() && count_runs(flags) * kRowsPerRun <= rows.num_items();
    const std::vector<int64_t> pairs = is_sparse ? flagged_ranges(rows, flags) : std::vector<int64_t>();
    const Bytes view(reinterpret_cast<const uint8_t*>(pairs.data()), pairs.size() * sizeof(int64_t));
    const Ranges wanted = is_sparse ? Ranges(view, num_rows()) : rows;
    ColumnBuilder decoded(values_.format, wanted.num_items());
    read(bytes, wanted, decoded);
    ArrowArray strings;
    decoded.finish(strings);
    const OwnedArray owned(strings);
    keep_strings(strings, values_.format.bits, test, is_sparse, flags);
}

void MiniBlockReader::take(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags,
                           ColumnBuilder& out) const {
    require_input(flags, rows.num_items(), "flags");
    flags = flags.first(static_cast<size_t>(rows.num_items()));
    if (num_flags == 0) return;
    if (num_flags == rows.num_items()) {
        read(bytes, rows, out);
    } else if (is_fixed()) {
        take_fixed(chunks(bytes), rows, flags, num_flags, out);
    } else if (count_runs(flags) * kRowsPerRun > rows.num_items()) {
        take_all(bytes, rows, flags, num_flags, out);
    } else {
        take_ranges(bytes, rows, flags, out);
    }
}

void MiniBlockReader::take_fixed(const Chunks& chunks, const Ranges& rows, Bytes flags, int64_t num_flags,
                                 ColumnBuilder& out) const {
    const FixedWidthEncoding encoding = fixed_encoding();
    const int64_t width = values_.bits / 8;
    PooledBuffer scratch;
    MutableBytes to;
    if (!is_looked_up()) {
        to = out.values(num_flags);
    } else {
        scratch = PooledBuffer(multiply(num_flags, width));
        to = {scratch.data(), static_cast<size_t>(num_flags * width)};
    }
    const int64_t num_valid = append_selected(chunks, rows, encoding, values_.definition, flags, to,
                                              values_.definition ? &out.validity() : nullptr);
    if (is_looked_up()) {
        Lookup lookup(*this, num_flags, out);
        lookup.add(to, num_flags);
        lookup.finish();
    }
    if (values_.definition) {
        out.add_rows(num_flags, num_valid);
    } else {
        out.add_valid(num_flags);
    }
}

void MiniBlockReader::take_ranges(const PageBytes& bytes, const Ranges& rows, Bytes flags, ColumnBuilder& out) const {
    const std::vector<int64_t> pairs = flagged_ranges(rows, flags);
    const Bytes view(reinterpret_cast<const uint8_t*>(pairs.data()), pairs.size() * sizeof(int64_t));
    read(bytes, Ranges(view, num_rows()), out);
}

// Everything is decoded, and what has a flag moves on.
void MiniBlockReader::take_all(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags,
                               ColumnBuilder& out) const {
    const int64_t count = rows.num_items();
    ColumnBuilder all(values_.format, count);
    read(bytes, rows, all);
    ArrowArray array;
    all.finish(array);
    const OwnedArray owned(array);
    const auto* first = static_cast<const uint8_t*>(array.buffers[1]);
    if (values_.format.variable) {
        with_offset(values_.format.bits, [&](auto offset) {
            using Offset = decltype(offset);
            const auto total = static_cast<int64_t>(load<Offset>(first + count * static_cast<int64_t>(sizeof(Offset))));
            const MutableBytes to = out.bytes(total);
            require_offset<Offset>(out.num_bytes() + total);
            out.add_bytes(compact_strings<Offset>(first, static_cast<const uint8_t*>(array.buffers[2]), flags,
                                                  out.offsets(num_flags).data(), to.data(), out.num_bytes()));
        });
    } else if (values_.format.bits >= 8) {
        const int64_t width = values_.format.bits / 8;
        uint8_t* to = out.values(num_flags).data();
        for (int64_t i = 0; i < count; ++i) {
            if (!flags[static_cast<size_t>(i)]) continue;
            copy(to, first + i * width, width);
            to += width;
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            if (flags[static_cast<size_t>(i)]) out.bits().append(first[i / 8] >> (i % 8) & 1, 1);
        }
    }
    if (array.null_count == 0) {
        out.add_valid(num_flags);
        return;
    }
    const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
    BitWriter& bits = out.validity();
    int64_t num_valid = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!flags[static_cast<size_t>(i)]) continue;
        const auto bit = static_cast<uint64_t>(validity[i / 8] >> (i % 8) & 1);
        bits.append(bit, 1);
        num_valid += static_cast<int64_t>(bit);
    }
    out.add_rows(num_flags, num_valid);
}

}  // namespace lance
