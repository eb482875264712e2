// Codes become the bytes that they stand for.
#include "encodings/fsst.h"

#include <bit>

#include "encodings/decode.h"

namespace lance {

namespace {

constexpr int64_t kTableBytes = 8 + 256 * 8 + 256;
constexpr uint64_t kMagic = 0x46535354;
// Codes decoded before the positions are read; a block's positions stay in L1.
constexpr int64_t kBlock = 4096;

// Position of a code that is the operand of an escape: no value begins there.
constexpr uint32_t kInsideEscape = ~uint32_t{0};

// The high bit of every byte that is 255.
uint64_t find_escapes(uint64_t codes) {
    const uint64_t inverted = ~codes;
    return (inverted - 0x0101010101010101) & ~inverted & 0x8080808080808080;
}

}  // namespace

SymbolTable::SymbolTable(Bytes bytes) {
    require_input(bytes, kTableBytes, "the symbol table");
    const uint64_t header = load<uint64_t>(bytes.data());
    if (header >> 32 != kMagic) fail("the symbol table does not begin with its magic number");
    in_use_ = (header >> 24 & 1) != 0;
    const size_t num_symbols = header & 0xFF;
    symbols_.fill({0, kUndefined});
    for (size_t i = 0; i < num_symbols; ++i) {
        const uint8_t length = bytes[8 + 8 * num_symbols + i];
        if (length < 1 || length > 8) fail("symbol ", i, " has a length of ", int{length}, ", not 1 to 8");
        symbols_[i] = {load<uint64_t>(bytes.data() + 8 + 8 * i), length};
    }
    symbols_[kEscape] = {0, kUndefined};
}

FsstDecoder::FsstDecoder(const SymbolTable& table, MutableBytes out, int64_t position)
    : table_(table), out_(out), position_(position), positions_(kBlock + 8) {
    if (position > size_of(out)) fail("byte ", position, " is not in an output of ", out.size());
}

// Decodes up to kBlock codes, and the operand of an escape that ends them; `out` has 8 bytes per code.
FsstDecoder::Block FsstDecoder::decode_block(Bytes codes, uint8_t* out) {
    const SymbolTable::Symbol* symbols = table_.symbols();
    const uint8_t* from = codes.data();
    const int64_t end = std::min(size_of(codes), kBlock);
    uint32_t* positions = positions_.data();
    int64_t i = 0;
    uint64_t at = 0;  // undefined codes add to the bits above 32
    const auto emit = [&](uint8_t code, int64_t index) {
        const SymbolTable::Symbol& symbol = symbols[code];
        positions[index] = static_cast<uint32_t>(at);
        store(out + static_cast<uint32_t>(at), symbol.bytes);
        at += symbol.step;
    };
    const auto emit_escape = [&] {
        if (i + 1 == size_of(codes)) fail("the last value ends inside of an escape");
        positions[i] = static_cast<uint32_t>(at);
        positions[i + 1] = kInsideEscape;
        out[static_cast<uint32_t>(at)] = from[i + 1];
        at += 1;
        i += 2;
    };
    while (i + 8 <= end) {
        const uint64_t word = load<uint64_t>(from + i);
        const uint64_t escapes = find_escapes(word);
        if (escapes == 0) {
            for (int k = 0; k < 8; ++k) emit(static_cast<uint8_t>(word >> (8 * k)), i + k);
            i += 8;
            continue;
        }
        // The lowest mark is exact, those above it may not be.
        for (const int64_t stop = i + std::countr_zero(escapes) / 8; i < stop; ++i) emit(from[i], i);
        emit_escape();
    }
    while (i < end) {
        if (from[i] == SymbolTable::kEscape) {
            emit_escape();
        } else {
            emit(from[i], i);
            ++i;
        }
    }
    if (at >= SymbolTable::kUndefined) fail("a code without a symbol");
    positions[i] = static_cast<uint32_t>(at);
    return {i, static_cast<int64_t>(at)};
}

template <class Offset, class OutOffset>
void FsstDecoder::decode(const uint8_t* offsets, int64_t num_values, Bytes data, uint8_t* out_offsets) {
    const auto offset = [&](int64_t i) { return load<Offset>(offsets + i * sizeof(Offset)); };
    const Offset start = offset(0);
    const auto put_end = [&](int64_t i, int64_t position) {
        store<OutOffset>(out_offsets + (i - 1) * static_cast<int64_t>(sizeof(OutOffset)),
                         static_cast<OutOffset>(position));
    };
    if (!table_.in_use()) {
        require_offset<OutOffset>(position_ + size_of(data));
        copy(out_.data() + position_, data.data(), size_of(data));
        for (int64_t i = 1; i <= num_values; ++i) {
            put_end(i, position_ + static_cast<int64_t>(static_cast<Offset>(offset(i) - start)));
        }
        position_ += size_of(data);
        return;
    }
    if (data.empty()) {
        for (int64_t i = 1; i <= num_values; ++i) put_end(i, position_);
        return;
    }
    int64_t consumed = 0;
    int64_t value = 1;  // the value whose end is looked for, counted from 1
    while (consumed < size_of(data)) {
        const Block block = decode_block(data.subspan(static_cast<size_t>(consumed)), out_.data() + position_);
        const int64_t block_end = consumed + block.num_codes;
        int64_t end_value = num_values + 1;
        if (block_end < size_of(data)) {
            end_value = value;
            while (static_cast<int64_t>(static_cast<Offset>(offset(end_value) - start)) <= block_end) ++end_value;
        }
        uint32_t furthest = 0;
        for (; value < end_value; ++value) {
            const auto end = static_cast<int64_t>(static_cast<Offset>(offset(value) - start));
            const uint32_t position = positions_[static_cast<size_t>(end - consumed)];
            furthest = std::max(furthest, position);
            put_end(value, position_ + position);
        }
        if (furthest == kInsideEscape) fail("a value begins inside of an escape");
        consumed = block_end;
        position_ += block.num_bytes;
        require_offset<OutOffset>(position_);
    }
}

namespace {

template <class OutOffset>
int64_t start_position(MutableBytes out_offsets, int64_t num_rows, int64_t start_row) {
    constexpr int64_t width = sizeof(OutOffset);
    require_output(out_offsets, (num_rows + 1) * width, "out_offsets");
    if (start_row > num_rows) fail("row ", start_row, " is not among ", num_rows);
    if (start_row == 0) {
        store<OutOffset>(out_offsets.data(), 0);
        return 0;
    }
    const OutOffset position = load<OutOffset>(out_offsets.data() + start_row * width);
    if (position > static_cast<OutOffset>(max_offset<OutOffset>))
        fail("row ", start_row, " begins at a negative offset");
    return static_cast<int64_t>(position);
}

template <class Offset, class OutOffset>
FsstProgress decode_chunks(const Chunks& chunks, const Ranges& ranges, const SymbolTable& table, int64_t start_row,
                           MutableBytes out_offsets, MutableBytes out) {
    FsstDecoder decoder(table, out, start_position<OutOffset>(out_offsets, ranges.num_items(), start_row));
    int64_t row = start_row;
    bool full = false;
    VariableChunks<Offset> variable(chunks);
    for_each_piece(chunks.table(), ranges, [&](Piece piece) {
        if (full || piece.position + piece.size() <= row) return;
        piece.first += row - piece.position;
        piece.position = row;
        const VariableChunk<Offset>& chunk = variable.of(piece);
        const Bytes data = chunk.checked_bytes(piece);
        full = !decoder.has_room(size_of(data));
        if (full) return;
        try {
            decoder.decode<Offset, OutOffset>(chunk.offsets(piece.first), piece.size(), data,
                                              out_offsets.data() + (row + 1) * static_cast<int64_t>(sizeof(OutOffset)));
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
        row += piece.size();
    });
    return {row, decoder.position()};
}

template <class Offset, class OutOffset>
FsstProgress decode_values(Bytes offsets, int64_t num_values, Bytes data, const SymbolTable& table, int64_t start_row,
                           MutableBytes out_offsets, MutableBytes out) {
    constexpr int64_t width = sizeof(Offset);
    check_offsets<Offset>(offsets, num_values, size_of(data));
    const auto offset = [&](int64_t i) { return static_cast<int64_t>(load<Offset>(offsets.data() + i * width)); };
    FsstDecoder decoder(table, out, start_position<OutOffset>(out_offsets, num_values, start_row));
    int64_t row = start_row;
    while (row < num_values) {
        const int64_t start = offset(row);
        int64_t end_row = row + 1;
        while (end_row < num_values && offset(end_row + 1) - start <= kBlock) ++end_row;
        const int64_t num_bytes = offset(end_row) - start;
        if (!decoder.has_room(num_bytes)) break;
        decoder.decode<Offset, OutOffset>(offsets.data() + row * width, end_row - row,
                                          data.subspan(static_cast<size_t>(start), static_cast<size_t>(num_bytes)),
                                          out_offsets.data() + (row + 1) * static_cast<int64_t>(sizeof(OutOffset)));
        row = end_row;
    }
    return {row, decoder.position()};
}

}  // namespace

FsstProgress fsst(const Chunks& chunks, const Ranges& ranges, int64_t offset_bits, Bytes symbol_table,
                  int64_t start_row, MutableBytes out_offsets, int64_t out_offset_bits, MutableBytes out) {
    chunks.require_buffer_index(0);
    const SymbolTable table(symbol_table);
    return with_offset(offset_bits, [&](auto offset) {
        return with_offset(out_offset_bits, [&](auto out_offset) {
            return decode_chunks<decltype(offset), decltype(out_offset)>(chunks, ranges, table, start_row, out_offsets,
                                                                         out);
        });
    });
}

FsstProgress fsst_values(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes symbol_table,
                         int64_t start_row, MutableBytes out_offsets, int64_t out_offset_bits, MutableBytes out) {
    const SymbolTable table(symbol_table);
    return with_offset(offset_bits, [&](auto offset) {
        return with_offset(out_offset_bits, [&](auto out_offset) {
            return decode_values<decltype(offset), decltype(out_offset)>(offsets, num_values, data, table, start_row,
                                                                         out_offsets, out);
        });
    });
}

}  // namespace lance
