// Bits in memory, least significant first.
#pragma once

#include <algorithm>

#include "system/bytes.h"

namespace lance {

inline uint64_t low_bits(int64_t num_bits) { return num_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << num_bits) - 1; }

// Without the instruction, which a plain x86-64 may lack, std::popcount is a call.
inline int64_t count_ones(uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<int64_t>((bits * 0x0101010101010101) >> 56);
}

// Counts the bytes that are 1; the others are 0.
inline int64_t count_flags(Bytes flags) {
    int64_t count = 0;
    size_t i = 0;
    // Bytes are summed in separate lanes, few enough times that none overflows.
    while (i + 8 <= flags.size()) {
        const size_t end = i + 8 * std::min<size_t>((flags.size() - i) / 8, 255);
        uint64_t sums = 0;
        for (; i < end; i += 8) sums += load<uint64_t>(flags.data() + i);
        const uint64_t pairs = (sums & 0x00FF00FF00FF00FF) + (sums >> 8 & 0x00FF00FF00FF00FF);
        count += static_cast<int64_t>((pairs * 0x0001000100010001) >> 48);
    }
    for (; i < flags.size(); ++i) count += flags[i];
    return count;
}

// Bit i = the lowest bit of byte i; the other bits of the bytes are zero.
inline uint64_t gather_low_bits(uint64_t bytes) { return (bytes * 0x0102040810204080) >> 56; }

// num_bits (1..64) bits of `from` beginning at `bit`; reads no byte that holds none of them.
inline uint64_t load_bits(const uint8_t* from, int64_t bit, int64_t num_bits) {
    const uint8_t* at = from + bit / 8;
    const int64_t shift = bit % 8;
    const int64_t num_bytes = bytes_for_bits(shift + num_bits);
    uint64_t word = 0;
    if (num_bytes >= 8) {
        word = load<uint64_t>(at) >> shift;
        if (num_bytes > 8) word |= uint64_t{at[8]} << (64 - shift);
    } else {
        std::memcpy(&word, at, static_cast<size_t>(num_bytes));
        word >>= shift;
    }
    return word & low_bits(num_bits);
}

// Appends bits to a bitmap from bit 0 on. finish() writes the last bytes, with zeros above the last bit.
class BitWriter {
  public:
    explicit BitWriter(MutableBytes out) : at_(out.data()), num_bytes_(size_of(out)) {}

    // num_bits in 1..64; the bits above are zero
    void append(uint64_t bits, int64_t num_bits) {
        pending_ |= bits << fill_;
        if (fill_ + num_bits < 64) {
            fill_ += num_bits;
            return;
        }
        require(8);
        store(at_, pending_);
        advance(8);
        pending_ = fill_ == 0 ? 0 : bits >> (64 - fill_);
        fill_ += num_bits - 64;
    }

    // Bits [first, last) of `from`.
    void append(const uint8_t* from, int64_t first, int64_t last) {
        if (fill_ == 0 && first % 8 == 0) {
            const int64_t num_bytes = (last - first) / 64 * 8;
            require(num_bytes);
            copy(at_, from + first / 8, num_bytes);
            advance(num_bytes);
            first += 8 * num_bytes;
        }
        for (; last - first >= 64; first += 64) append(load_bits(from, first, 64), 64);
        if (first < last) append(load_bits(from, first, last - first), last - first);
    }

    void finish() {
        const int64_t rest = bytes_for_bits(fill_);
        require(rest);
        copy(at_, reinterpret_cast<const uint8_t*>(&pending_), rest);
    }

  private:
    void require(int64_t num_bytes) const {
        if (num_bytes > num_bytes_) fail("the bitmap is too short by ", num_bytes - num_bytes_, " bytes");
    }

    void advance(int64_t num_bytes) {
        at_ += num_bytes;
        num_bytes_ -= num_bytes;
    }

    uint8_t* at_;
    int64_t num_bytes_;
    uint64_t pending_ = 0;
    int64_t fill_ = 0;
};

}  // namespace lance
