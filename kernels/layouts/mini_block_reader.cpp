// Values of fixed width and indices; byte strings are in mini_block_strings.cpp.
#include "layouts/mini_block_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "arrow/held_arrays.h"
#include "encodings/decode.h"
#include "encodings/fsst.h"
#include "predicates/passed_ranges.h"
#include "predicates/selected_values.h"

namespace lance {

namespace {

// If fewer strings than one in this many pass a test, memory for all of them is not reserved during the test.
constexpr double kRowsPerMatch = 3.0;

// Rows are far apart if the gaps have this many times the bytes of their chunks. Below kScatteredBytes the system maps
// everything at the first touch; more than kMostExtents parts do not count as far apart.
constexpr int64_t kGapsPerByte = 4;
constexpr int64_t kScatteredBytes = 64 * 1024;
constexpr int64_t kMostExtents = 16;

}  // namespace

MiniBlockReader::MiniBlockReader(const ChunkTable& table, const MiniBlockValues& values)
    : table_(table), values_(values) {
    const auto codec = static_cast<int64_t>(values.codec);
    if (values.codec == ValueCodec::kOther) return;
    if (values.codec == ValueCodec::kInlineBitpacking || values.codec == ValueCodec::kRle)
        with_word(values.bits, [](auto) {});
    const ColumnFormat& format = values.format;
    if (values.dictionary) {
        const DictionaryItems& items = *values.dictionary;
        if (!is_fixed() || values.bits == 128) fail("indices of codec ", codec, " with ", values.bits, " bits");
        if (values.keeps_indices) {
            if (format.variable || format.list_size != 0) fail("indices are numbers");
            with_word(format.bits, [](auto) {});
            const int64_t most = int64_t{1} << std::min<int64_t>(format.bits, 31);
            if (items.num_items > most) fail(items.num_items, " items are more than ", format.bits, " bits count");
            return;
        }
        if (items.variable != format.variable) fail("items of another kind than the column");
        if (!items.variable) {
            if (items.bits != format.bits || items.bits % 8 != 0)
                fail("items of ", items.bits, " bits as ", format.bits);
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
        if (values.codec == ValueCodec::kFsst) SymbolTable{values.symbol_table};
        with_offset(values.bits, [](auto) {});
        return;
    }
    const bool narrows = values.bits == 128 && format.bits == 64;
    if (!narrows && values.bits != format.bits) fail("values of ", values.bits, " bits as ", format.bits);
    if (values.codec != ValueCodec::kFlat && !is_fixed()) fail("values of ", values.bits, " bits in codec ", codec);
}

Chunks MiniBlockReader::chunks(const PageBytes& bytes) const {
    const Chunks chunks = bytes.extents ? Chunks(table_, bytes.data, bytes.start, *bytes.extents)
                                        : Chunks(table_, bytes.data, bytes.start);
    if (!bytes.replaced) return chunks;
    return chunks.with_first_buffer(bytes.replaced->first_chunk, bytes.replaced->data, bytes.replaced->offsets);
}

std::pair<int64_t, int64_t> MiniBlockReader::bytes_of(const Ranges& rows) const {
    const auto [first, end] = rows.bounds();
    if (first == end) return {0, 0};
    const std::vector<int64_t>& offsets = table_.byte_offsets();
    const int64_t first_chunk = table_.chunk_of(first);
    return {offsets[static_cast<size_t>(first_chunk)],
            offsets[static_cast<size_t>(table_.chunk_of(end - 1, first_chunk)) + 1]};
}

std::vector<int64_t> MiniBlockReader::scattered_bytes_of(const Ranges& rows) const {
    const auto [first, end] = bytes_of(rows);
    // Each row needs at least one chunk, so other rows need not be checked.
    if (end - first < kScatteredBytes || rows.size() > (end - first) / kScatteredBytes * kMostExtents) return {};
    const std::vector<int64_t>& offsets = table_.byte_offsets();
    std::vector<int64_t> extents;
    int64_t num_bytes = 0;
    for_each_piece(table_, rows, [&](const Piece& piece) {
        const int64_t start = offsets[static_cast<size_t>(piece.chunk)];
        const int64_t stop = offsets[static_cast<size_t>(piece.chunk) + 1];
        if (extents.empty() || start > extents.back()) {
            extents.insert(extents.end(), {start, stop});
        } else if (stop > extents.back()) {
            num_bytes -= extents.back() - start;
            extents.back() = stop;
        } else {
            return;
        }
        num_bytes += stop - start;
    });
    if (num_bytes > (end - first) / kGapsPerByte) return {};
    return extents;
}

void MiniBlockReader::require_bytes(const PageBytes& bytes, int64_t num_rows) const {
    if (values_.codec != ValueCodec::kFlat && values_.codec != ValueCodec::kByteStreamSplit) return;
    if (bytes_for_bits(multiply(num_rows, values_.bits)) > bytes.size()) {
        fail(num_rows, " values of ", values_.bits, " bits in chunks of ", bytes.size(), " bytes");
    }
}

void MiniBlockReader::read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    if (values_.codec == ValueCodec::kOther) fail("values of a codec that is not known");
    const Chunks chunks = this->chunks(bytes);
    if (is_looked_up()) {
        look_up(chunks, rows, out);
    } else if (values_.codec == ValueCodec::kVariable) {
        read_strings(chunks, rows, out);
    } else if (values_.codec == ValueCodec::kFsst) {
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

// Chunks are decoded one at a time, so that the values are in a processor cache when they are looked up or narrowed.
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
        case ValueCodec::kFlat: flat(chunks, rows, 0, values_.bits, out); break;
        case ValueCodec::kInlineBitpacking: inline_bitpacking(chunks, rows, values_.bits, out); break;
        case ValueCodec::kByteStreamSplit: byte_stream_split(chunks, rows, values_.bits / 8, out); break;
        case ValueCodec::kRle: rle(chunks, rows, values_.bits, out); break;
        case ValueCodec::kVariable:
        case ValueCodec::kFsst:
        case ValueCodec::kOther: fail("byte strings have no fixed width");
    }
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
        note_share(count_flags(flags.first(static_cast<size_t>(rows.num_items()))), rows.num_items());
    } else {
        const Bytes answers = std::get<ItemsTest>(test).answers;
        if (!values_.dictionary || size_of(answers) != values_.dictionary->num_items) {
            fail(answers.size(), " answers are not as many as the dictionary has items");
        }
        match_items(chunks, rows, fixed_encoding(), answers, values_.definition, flags);
    }
}

void MiniBlockReader::take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed,
                           ColumnBuilder& out) const {
    require_input(passed.flags(), rows.num_items(), "flags");
    const Bytes flags = passed.flags().first(static_cast<size_t>(rows.num_items()));
    if (passed.count() == 0) return;
    if (passed.count() == rows.num_items()) {
        read(bytes, rows, out);
    } else if (is_fixed()) {
        take_fixed(chunks(bytes), rows, passed, out);
    } else if (is_variable()) {
        take_strings(chunks(bytes), rows, passed, out);
    } else if (count_runs(flags) * kRowsPerRun > rows.num_items()) {
        take_all(bytes, rows, flags, passed.count(), out);
    } else {
        take_ranges(bytes, rows, flags, out);
    }
}

void MiniBlockReader::take_fixed(const Chunks& chunks, const Ranges& rows, const PassedRows& passed,
                                 ColumnBuilder& out) const {
    const FixedWidthEncoding encoding = fixed_encoding();
    const int64_t width = values_.bits / 8;
    const int64_t count = passed.count();
    PooledBuffer scratch;
    MutableBytes to;
    if (!is_looked_up()) {
        to = out.values(count);
    } else {
        scratch = PooledBuffer(multiply(count, width));
        to = {scratch.data(), static_cast<size_t>(count * width)};
    }
    const int64_t num_valid = append_selected(chunks, rows, encoding, values_.definition, passed, to,
                                              values_.definition ? &out.validity() : nullptr);
    if (is_looked_up()) {
        Lookup lookup(*this, count, out);
        lookup.add(to, count);
        lookup.finish();
    }
    if (values_.definition) {
        out.add_rows(count, num_valid);
    } else {
        out.add_valid(count);
    }
}

bool MiniBlockReader::filters_at_once(const PageTest& test) const {
    if (std::holds_alternative<StringTest>(test)) {
        // Few strings are collected after the test, and plain ones are compared in place.
        return values_.codec == ValueCodec::kFsst && share_.load(std::memory_order_relaxed) * kRowsPerMatch > 1.0;
    }
    if (!std::holds_alternative<RangeTest>(test) || !is_fixed() || is_looked_up()) return false;
    // Few values are found in their places with less work.
    return share_.load(std::memory_order_relaxed) * kRowsPerPlace > 1.0;
}

void MiniBlockReader::filter(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                             ColumnBuilder& out) const {
    if (!filters_at_once(test)) {
        PageReader::filter(bytes, rows, test, flags, out);
        return;
    }
    require_output(flags, rows.num_items(), "flags");
    flags = flags.first(static_cast<size_t>(rows.num_items()));
    const Chunks chunks = this->chunks(bytes);
    if (const auto* strings = std::get_if<StringTest>(&test)) {
        filter_strings(chunks, rows, *strings, flags, out);
    } else {
        const KeyRange& keys = std::get<RangeTest>(test).keys;
        const MutableBytes to = out.values(rows.num_items());
        const int64_t count = append_matches(chunks, rows, fixed_encoding(), keys, values_.definition, flags, to);
        // No NULL matches.
        out.add_valid(count);
        note_share(count, rows.num_items());
    }
}

void MiniBlockReader::take_ranges(const PageBytes& bytes, const Ranges& rows, Bytes flags, ColumnBuilder& out) const {
    const std::vector<int64_t> pairs = flagged_ranges(rows, flags);
    const Bytes view = as_bytes(pairs);
    read(bytes, Ranges(view, num_rows()), out);
}

// Everything is decoded, and what has a flag moves on.
void MiniBlockReader::take_all(const PageBytes& bytes, const Ranges& rows, Bytes flags, int64_t num_flags,
                               ColumnBuilder& out) const {
    const int64_t count = rows.num_items();
    ColumnBuilder all(values_.format.without_list(), count);
    read(bytes, rows, all);
    HeldArrays decoded(1);
    all.finish(decoded.arrays[0]);
    const ArrowArray& array = decoded.arrays[0];
    const auto* first = static_cast<const uint8_t*>(array.buffers[1]);
    if (values_.format.bits >= 8) {
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
