// Passes values of pages to the observers that learn their bounds.
#include <cstring>
#include <memory>

#include "encodings/decode.h"
#include "encodings/fsst.h"
#include "encodings/pieces.h"
#include "encodings/variable.h"
#include "layouts/constant_reader.h"
#include "layouts/mini_block_reader.h"
#include "predicates/zone_bounds.h"

namespace lance {

namespace {

// The key of a string in codes.
uint64_t decoded_key(const SymbolTable& table, const uint8_t* codes, int64_t length) {
    uint64_t word = 0;
    uint64_t num_bytes = 0;
    for (int64_t i = 0; i < length && num_bytes < 8; ++i) {
        SymbolTable::Symbol symbol = table.symbols()[codes[i]];
        if (codes[i] == SymbolTable::kEscape) {
            if (++i == length) fail("a value ends inside of an escape");
            symbol = {codes[i], 1};
        } else if (symbol.step == SymbolTable::kUndefined) {
            fail("a code without a symbol");
        }
        word |= (symbol.bytes & ~uint64_t{0} >> (64 - 8 * symbol.step)) << (8 * num_bytes);
        num_bytes += symbol.step;
    }
    return __builtin_bswap64(word);
}

// Whether all values within the bounds are in the range, or none is; nothing if only some may be.
std::optional<bool> answer_of_all(const KeyBounds& bounds, const RangeLoop& range) {
    if (bounds.num_nans != 0) return std::nullopt;
    if (bounds.high < range.low || bounds.low > range.high) return !range.inside;
    if (bounds.low >= range.low && bounds.high <= range.high) return range.inside;
    return std::nullopt;
}

}  // namespace

void MiniBlockReader::observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const {
    if (is_variable() && out.num_bits() == 64) {
        observe_strings(bytes, rows, first_row, out);
        return;
    }
    if (values_.dictionary) {
        observe_items(bytes, rows, first_row, out);
        return;
    }
    if (!is_fixed() || values_.bits != out.num_bits()) return;
    const Chunks chunks = this->chunks(bytes);
    const FixedWidthEncoding encoding = fixed_encoding();
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (values_.definition) levels.emplace(chunks, *values_.definition);
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        const int64_t row = first_row + chunks.table().item_starts()[static_cast<size_t>(piece.chunk)] + piece.first;
        if (!out.wants(row, piece.size())) return;
        out.add(row, values.of(piece), levels ? levels->of(piece) : nullptr, piece.size());
    });
}

// The bounds answer the test for chunks whose values are close together.
void MiniBlockReader::mask_observed(const PageBytes& bytes, const Ranges& rows, const PageTest& test,
                                    MutableBytes flags, int64_t first_row, ZoneObserver& out) const {
    const auto* range = std::get_if<RangeTest>(&test);
    const bool are_keys = range != nullptr && range->keys.order == out.order() && values_.bits == out.num_bits();
    if (!are_keys || values_.bits > 64 || values_.dictionary || !is_fixed()) {
        PageReader::mask_observed(bytes, rows, test, flags, first_row, out);
        return;
    }
    require_output(flags, rows.num_items(), "flags");
    const RangeLoop keep(values_.bits, range->keys);
    const Chunks chunks = this->chunks(bytes);
    const FixedWidthEncoding encoding = fixed_encoding();
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (values_.definition) levels.emplace(chunks, *values_.definition);
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        const int64_t row = first_row + chunks.table().item_starts()[static_cast<size_t>(piece.chunk)] + piece.first;
        uint8_t* at = flags.data() + piece.position;
        const uint8_t* of_piece = values.of(piece);
        const uint8_t* levels_here = levels ? levels->of(piece) : nullptr;
        const std::optional<KeyBounds> bounds = out.add(row, of_piece, levels_here, piece.size());
        const std::optional<bool> answer = bounds ? answer_of_all(*bounds, keep) : std::nullopt;
        if (!answer) {
            keep(of_piece, piece.size(), at);
        } else if (!*answer) {
            std::memset(at, 0, static_cast<size_t>(piece.size()));
        }
        for (int64_t i = 0; levels && i < piece.size(); ++i) at[i] &= load<uint16_t>(levels_here + 2 * i) == 0;
    });
    note_share(count_flags(flags.first(static_cast<size_t>(rows.num_items()))), rows.num_items());
}

// Indices become the items that they stand for, or the keys of those.
void MiniBlockReader::observe_items(const PageBytes& bytes, const Ranges& rows, int64_t first_row,
                                    ZoneObserver& out) const {
    const DictionaryItems& items = *values_.dictionary;
    const int64_t width = out.num_bits() / 8;
    if (values_.keeps_indices || (items.variable ? out.num_bits() != 64 : items.bits != out.num_bits())) return;
    if (items.variable) out.require_strings();
    const Bytes keys = items.variable ? item_keys() : items.data;
    const Chunks chunks = this->chunks(bytes);
    const FixedWidthEncoding encoding = fixed_encoding();
    PieceValues indices(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (values_.definition) levels.emplace(chunks, *values_.definition);
    std::vector<uint8_t> gathered;
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        const int64_t row = first_row + chunks.table().item_starts()[static_cast<size_t>(piece.chunk)] + piece.first;
        if (!out.wants(row, piece.size())) return;
        gathered.resize(static_cast<size_t>(piece.size() * width));
        const Bytes of_piece(indices.of(piece), static_cast<size_t>(piece.size() * (values_.bits / 8)));
        gather_fixed(of_piece, values_.bits, piece.size(), keys, items.num_items, width, gathered);
        out.add(row, gathered.data(), levels ? levels->of(piece) : nullptr, piece.size());
    });
}

// Built at the first use: most pages are not learned. If two threads build them, one discards its own; a lock could be
// held forever in a forked process.
Bytes MiniBlockReader::item_keys() const {
    const DictionaryItems& items = *values_.dictionary;
    const std::vector<uint64_t>* keys = item_keys_.load(std::memory_order_acquire);
    if (keys == nullptr) {
        auto made = std::make_unique<std::vector<uint64_t>>(static_cast<size_t>(items.num_items));
        with_offset(items.bits, [&](auto kind) {
            using Offset = decltype(kind);
            for (int64_t i = 0; i < items.num_items; ++i) {
                const uint8_t* at = items.offsets.data() + i * static_cast<int64_t>(sizeof(Offset));
                const auto start = static_cast<int64_t>(load<Offset>(at));
                const auto end = static_cast<int64_t>(load<Offset>(at + sizeof(Offset)));
                (*made)[static_cast<size_t>(i)] =
                    string_key(items.data.data() + start, end - start, size_of(items.data) - start);
            }
        });
        if (item_keys_.compare_exchange_strong(keys, made.get(), std::memory_order_acq_rel)) keys = made.release();
    }
    return {reinterpret_cast<const uint8_t*>(keys->data()), keys->size() * sizeof(uint64_t)};
}

// The keys of a piece of strings: eight bytes of each are all that is decoded.
void MiniBlockReader::observe_strings(const PageBytes& bytes, const Ranges& rows, int64_t first_row,
                                      ZoneObserver& out) const {
    out.require_strings();
    const Chunks chunks = this->chunks(bytes);
    chunks.require_buffer_index(0);
    std::optional<SymbolTable> symbols;
    if (values_.codec == ValueCodec::kFsst) symbols.emplace(values_.symbol_table);
    if (symbols && !symbols->in_use()) symbols.reset();
    std::optional<PieceLevels> levels;
    if (values_.definition) levels.emplace(chunks, *values_.definition);
    std::vector<uint64_t> keys;
    with_offset(values_.bits, [&](auto offset) {
        using Offset = decltype(offset);
        for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
            const int64_t row =
                first_row + chunks.table().item_starts()[static_cast<size_t>(piece.chunk)] + piece.first;
            if (!out.wants(row, piece.size())) return;
            const VariableChunk<Offset> chunk(chunks, piece);
            const Bytes data = chunk.checked_bytes(piece);
            keys.resize(static_cast<size_t>(piece.size()));
            const Offset base = chunk.offset(piece.first);
            for (int64_t i = 0; i < piece.size(); ++i) {
                const auto start = static_cast<int64_t>(static_cast<Offset>(chunk.offset(piece.first + i) - base));
                const auto end = static_cast<int64_t>(static_cast<Offset>(chunk.offset(piece.first + i + 1) - base));
                const uint8_t* from = data.data() + start;
                keys[static_cast<size_t>(i)] = symbols ? decoded_key(*symbols, from, end - start)
                                                       : string_key(from, end - start, size_of(data) - start);
            }
            out.add(row, reinterpret_cast<const uint8_t*>(keys.data()), levels ? levels->of(piece) : nullptr,
                    piece.size());
        });
    });
}

void ConstantReader::observe(const PageBytes&, const Ranges& rows, int64_t first_row, ZoneObserver& out) const {
    if (format_.variable || (value_ && (size_of(*value_) * 8 != out.num_bits()))) return;
    if (validity_) {
        observe_some(rows, first_row, out);
        return;
    }
    for (int64_t i = 0; i < rows.size(); ++i) {
        out.add_constant(first_row + rows.start(i), value_ ? value_->data() : nullptr, rows.end(i) - rows.start(i));
    }
}

void ConstantReader::observe_some(const Ranges& rows, int64_t first_row, ZoneObserver& out) const {
    constexpr int64_t block = 1024;
    const int64_t width = size_of(*value_);
    std::vector<uint8_t> values(static_cast<size_t>(block * width));
    for (int64_t i = 0; i < block; ++i) copy(values.data() + i * width, value_->data(), width);
    std::vector<uint8_t> levels(2 * block);
    for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t row = rows.start(i); row < rows.end(i); row += block) {
            const int64_t count = std::min(rows.end(i) - row, block);
            for (int64_t k = 0; k < count; ++k) {
                const bool is_valid = validity_->data()[(row + k) / 8] >> ((row + k) % 8) & 1;
                store(levels.data() + 2 * k, static_cast<uint16_t>(!is_valid));
            }
            out.add(first_row + row, values.data(), levels.data(), count);
        }
    }
}

}  // namespace lance
