// FSST: a byte c < 255 stands for symbol c of up to 8 bytes; 255 is an escape for the next byte. Source: Boncz, Neumann
// and Leis, "FSST: Fast Random Access String Compression", VLDB 2020; message Fsst
#pragma once

#include <array>
#include <vector>

#include "encodings/variable.h"

namespace lance {

class SymbolTable {
  public:
    // u64 header (bits 0..7 n, bit 24 codes in use, bits 32..63 magic), n x 8 symbol bytes, n x u8 lengths
    explicit SymbolTable(Bytes bytes);

    // False: the data is stored as it is.
    bool in_use() const { return in_use_; }

    // Room that decoding `num_bytes` needs: symbols are stored 8 bytes at a time.
    int64_t room(int64_t num_bytes) const { return in_use_ ? 8 * num_bytes + 8 : num_bytes; }

    struct Symbol {
        uint64_t bytes;
        uint64_t step;  // length, or kUndefined
    };
    static constexpr uint64_t kUndefined = uint64_t{1} << 40;
    static constexpr uint8_t kEscape = 255;

    const Symbol* symbols() const { return symbols_.data(); }

  private:
    std::array<Symbol, 256> symbols_;
    bool in_use_;
};

// Decodes runs of values one after the other into one output.
class FsstDecoder {
  public:
    FsstDecoder(const SymbolTable& table, MutableBytes out, int64_t position);

    // Position in `out` after the values decoded so far.
    int64_t position() const { return position_; }
    bool has_room(int64_t num_bytes) const { return table_.room(num_bytes) <= size_of(out_) - position_; }

    // num_values values: `offsets` holds num_values + 1 of them, risen from the start of `data` (the bytes
    // of the values) by offsets[0]; writes the end of each value to out_offsets, in order.
    template <class Offset, class OutOffset>
    void decode(const uint8_t* offsets, int64_t num_values, Bytes data, uint8_t* out_offsets);

  private:
    struct Block {
        int64_t num_codes;  // consumed
        int64_t num_bytes;  // written
    };
    Block decode_block(Bytes codes, uint8_t* out);

    const SymbolTable& table_;
    MutableBytes out_;
    int64_t position_;
    std::vector<uint32_t> positions_;  // in the block's output, of each code of the block and of its end
};

}  // namespace lance
