// Gathers values of chunks and entries, and takes them apart.
#include "layouts/composite_reader.h"

#include "encodings/decode.h"
#include "layouts/compressed_chunks.h"

namespace lance {

namespace {

using Kind = CellEncoding::Kind;

PooledBuffer take_values(const Chunks& chunks, const Ranges& items, int64_t buffer_index, int64_t bits) {
    const int64_t num_bytes = bytes_for_bits(multiply(items.num_items(), bits));
    PooledBuffer made(num_bytes);
    flat(chunks, items, buffer_index, bits, {made.data(), static_cast<size_t>(num_bytes)});
    return made;
}

int64_t bits_in_chunks(const CellEncoding& encoding) {
    int64_t bits = bits_of(encoding);
    int64_t width = 1;
    for (const CellEncoding* inner = &encoding; inner->kind == Kind::kLists; inner = &inner->children.at(0)) {
        width = multiply(width, inner->dimension);
        if (inner->has_validity) bits += width;
    }
    return bits;
}

// Each field of adjacent values, one after the other.
void append_fields(const CellEncoding& encoding, const uint8_t* rows, int64_t count, ValueBuilder& out) {
    const int64_t stride = bits_of(encoding) / 8;
    int64_t at = 0;
    for (size_t i = 0; i < encoding.children.size(); ++i) {
        const int64_t width = encoding.children[i].bits / 8;
        const PooledBuffer field(multiply(count, width));
        for (int64_t row = 0; row < count; ++row) copy(field.data() + row * width, rows + row * stride + at, width);
        append_numbers(field.data(), 8 * width, count, nullptr, out.child(i));
        at += width;
    }
}

}  // namespace

ChunkComposites::ChunkComposites(ValueShape shape, const ChunkTable& table, CellEncoding encoding,
                                 std::optional<Compression> compression)
    : CompositeReader(std::move(shape)), table_(table), encoding_(std::move(encoding)), compression_(compression) {
    if (encoding_.is_variable()) fail("byte strings with parts in chunks");
    check_fit(encoding_, this->shape());
    for (const CellEncoding& field : encoding_.children) {
        const bool is_number = field.kind == Kind::kNumbers && field.bits % 8 == 0;
        if (encoding_.kind == Kind::kFields && !is_number) fail("fields that are no numbers of whole bytes in chunks");
    }
}

std::pair<int64_t, int64_t> ChunkComposites::bytes_of(const Ranges& rows) const {
    const auto [first, end] = rows.bounds();
    if (first == end) return {0, 0};
    const std::vector<int64_t>& offsets = table_.byte_offsets();
    const int64_t first_chunk = table_.chunk_of(first);
    const int64_t last_chunk = table_.chunk_of(end - 1, first_chunk);
    return {offsets[static_cast<size_t>(first_chunk)], offsets[static_cast<size_t>(last_chunk) + 1]};
}

void ChunkComposites::require_bytes(const PageBytes& bytes, int64_t num_items) const {
    const int64_t most = compression_ ? most_decompressed(*compression_, bytes.size()) : bytes.size();
    const int64_t bits = bits_in_chunks(encoding_);
    if (bytes_for_bits(multiply(num_items, bits)) > most) {
        fail(num_items, " values of ", bits, " bits in chunks of ", bytes.size(), " bytes");
    }
}

void ChunkComposites::append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                             ValueBuilder& out) const {
    const Chunks chunks(table_, bytes.data, bytes.start);
    if (!compression_) {
        append_chunks(chunks, items, num_items, validity, out);
        return;
    }
    const DecompressedChunks inside(chunks, *compression_, items);
    const ReplacedBuffers replaced = inside.buffers();
    append_chunks(chunks.with_first_buffer(replaced.first_chunk, replaced.data, replaced.offsets), items, num_items,
                  validity, out);
}

void ChunkComposites::append_chunks(const Chunks& chunks, const Ranges& items, int64_t num_items,
                                    const uint8_t* validity, ValueBuilder& out) const {
    if (items.num_items() != num_items) fail(items.num_items(), " values where ", num_items, " were expected");
    if (encoding_.kind != Kind::kLists) {
        const PooledBuffer values = take_values(chunks, items, 0, bits_of(encoding_));
        if (encoding_.kind == Kind::kFields) {
            append_fields(encoding_, values.data(), num_items, out);
            out.add_rows(num_items, validity);
        } else {
            append_numbers(values.data(), encoding_.bits, num_items, validity, out);
        }
        return;
    }
    std::vector<PooledBuffer> held;
    ListCells cells;
    int64_t width = 1;
    const auto next = [&](int64_t bits) {
        held.push_back(take_values(chunks, items, static_cast<int64_t>(held.size()), bits));
        return held.back().data();
    };
    const CellEncoding* inner = &encoding_;
    for (; inner->kind == Kind::kLists; inner = &inner->children.at(0)) {
        width = multiply(width, inner->dimension);
        cells.bitmaps.push_back(inner->has_validity ? next(width) : nullptr);
    }
    if (inner->kind == Kind::kNumbers) cells.items = next(multiply(width, inner->bits));
    append_lists(encoding_, cells, num_items, validity, out);
}

ZipComposites::ZipComposites(ValueShape shape, ZipShape entries, CellEncoding encoding, int64_t num_bytes)
    : CompositeReader(std::move(shape)), entries_(entries), encoding_(std::move(encoding)), num_bytes_(num_bytes) {
    if (encoding_.kind == Kind::kFields) fail("a packed struct without lengths between levels");
    check_fit(encoding_, this->shape());
    if (encoding_.kind == Kind::kNulls) return;
    if (encoding_.is_variable() != entries_.is_variable()) fail("values of another kind than their entries");
    if (!entries_.is_variable() && bytes_of_cell(encoding_) != entries_.value_bytes) {
        fail("values of ", bytes_of_cell(encoding_), " bytes in entries of ", entries_.value_bytes);
    }
}

void ZipComposites::append(const PageBytes& bytes, const Ranges& items, int64_t num_items, const uint8_t* validity,
                           ValueBuilder& out) const {
    StringCells cells;
    int64_t total = 0;
    PooledBuffer data;
    // once for their number and bytes, then to move them together
    for (const bool moves : {false, true}) {
        if (moves) data = PooledBuffer(total);
        total = 0;
        for (int64_t i = 0; i < items.size(); ++i) {
            if (items.start(i) == items.end(i)) continue;
            ZipCursor cursor(bytes.data, items.start(i) - bytes.start, items.end(i) - bytes.start, entries_);
            while (!cursor.at_end()) {
                const ZipEntry entry = cursor.next();
                if (!entry.visible) continue;
                if (moves) {
                    copy(data.data() + total, bytes.data.data() + entry.value_start, entry.value_bytes);
                    cells.offsets.push_back(total + entry.value_bytes);
                }
                total += entry.value_bytes;
            }
        }
    }
    if (cells.count() != num_items) fail(num_items, " values became ", cells.count());
    cells.data = {data.data(), static_cast<size_t>(total)};
    if (entries_.is_variable()) {
        append_strings(encoding_, cells, validity, out);
    } else {
        append_cells(encoding_, data.data(), num_items, validity, out);
    }
}

RepeatedComposites::RepeatedComposites(ValueShape shape, int64_t num_rows, std::optional<Bytes> value)
    : CompositeReader(std::move(shape)), num_rows_(num_rows), value_(value) {
    CellEncoding number;
    number.kind = Kind::kNumbers;
    if (value) number.bits = 8 * size_of(*value);
    if (value) check_fit(number, this->shape());
}

void RepeatedComposites::append(const PageBytes&, const Ranges&, int64_t num_items, const uint8_t* validity,
                                ValueBuilder& out) const {
    if (value_) {
        const int64_t width = size_of(*value_);
        const PooledBuffer values(multiply(num_items, width));
        for (int64_t i = 0; i < num_items; ++i) copy(values.data() + i * width, value_->data(), width);
        append_numbers(values.data(), 8 * width, num_items, validity, out);
    } else if (shape().kind == ValueShape::Kind::kStruct && shape().children.empty()) {
        out.add_rows(num_items, validity);
    } else {
        out.add_null(num_items);
    }
}

}  // namespace lance
