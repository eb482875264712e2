// Bit-packed buffers: a group that begins with its own width, and groups of a width given elsewhere.
#pragma once

#include <algorithm>

#include "bits.h"
#include "unpack_group.h"

namespace lance {

// The width of a group that begins with a word holding it; refuses bytes of another size.
template <class T>
uint64_t inline_width(Bytes packed) {
    require_input(packed, sizeof(T), "the bit width");
    const uint64_t num_bits = load<T>(packed.data());
    if (num_bits > 8 * sizeof(T)) fail("a width of ", num_bits, " bits in words of ", 8 * sizeof(T));
    if (packed.size() != sizeof(T) + 128 * num_bits) {
        fail(num_bits, " bits x 1024 needs ", sizeof(T) + 128 * num_bits, " bytes, found ", packed.size());
    }
    return num_bits;
}

// Single values of such a group; see unpack_group.h for where they are.
template <class T>
class PackedGroup {
  public:
    explicit PackedGroup(Bytes packed)
        : words_(packed.data() + sizeof(T)), num_bits_(static_cast<int64_t>(inline_width<T>(packed))) {}

    int64_t num_bits() const { return num_bits_; }

    // Of value `index`, which is below 1024.
    T at(int64_t index) const {
        if (num_bits_ == 0) return 0;
        const auto [lane, bit] = place(index);
        const int64_t word = bit / kBits;
        const int64_t shift = bit % kBits;
        uint64_t value = uint64_t{get(word, lane)} >> shift;
        if (shift + num_bits_ > kBits) value |= uint64_t{get(word + 1, lane)} << (kBits - shift);
        return static_cast<T>(value & low_bits(num_bits_));
    }

    // Where its first bits are.
    const uint8_t* address(int64_t index) const {
        const auto [lane, bit] = place(index);
        return words_ + (bit / kBits * kLanes + lane) * static_cast<int64_t>(sizeof(T));
    }

  private:
    static constexpr int64_t kBits = 8 * sizeof(T);
    static constexpr int64_t kLanes = kGroup / kBits;

    struct Place {
        int64_t lane;
        int64_t bit;
    };

    Place place(int64_t index) const {
        // Numbers of fixed size: divisions by powers of two are shifts of what has no sign.
        const auto at = static_cast<uint64_t>(index);
        const uint64_t lane = at % kLanes;
        const uint64_t order = (at % 128 - lane) / 16;
        // The order of eight is its own inverse: the bits of a number turned around.
        const uint64_t row = 8 * ((order & 1) << 2 | (order & 2) | order >> 2) + at / 128;
        return {static_cast<int64_t>(lane), static_cast<int64_t>(row) * num_bits_};
    }

    T get(int64_t word, int64_t lane) const {
        return load<T>(words_ + (word * kLanes + lane) * static_cast<int64_t>(sizeof(T)));
    }

    const uint8_t* words_;
    int64_t num_bits_;
};

// A word holding W, then one group of W bits; writes 1024 words.
template <class T>
void unpack_inline(Bytes packed, uint8_t* out) {
    const uint64_t num_bits = inline_width<T>(packed);
    unpack_group<T>(static_cast<int64_t>(num_bits))(packed.data() + sizeof(T), out);
}

// The same for the first num_values of the group; writes only those.
template <class T>
void unpack_inline_block(Bytes packed, int64_t num_values, uint8_t* out) {
    if (num_values > kGroup) fail(num_values, " values in a group of 1024");
    if (num_values == 0) return;
    alignas(64) uint8_t group[kGroup * sizeof(T)];
    unpack_inline<T>(packed, group);
    copy(out, group, num_values * static_cast<int64_t>(sizeof(T)));
}

// Groups of num_bits; the values after the last full group are one more group or, if shorter, plain words.
template <class T>
void unpack_groups(Bytes packed, int64_t num_bits, int64_t num_values, uint8_t* out) {
    constexpr int64_t width = sizeof(T);
    if (num_bits > 8 * width) fail("a width of ", num_bits, " bits in words of ", 8 * width);
    if (num_bits == 0) {
        if (num_values > 0) std::memset(out, 0, static_cast<size_t>(num_values * width));
        return;
    }
    const int64_t group_bytes = 128 * num_bits;
    const int64_t num_groups = num_values / kGroup;
    const int64_t tail = num_values % kGroup;
    const int64_t rest = size_of(packed) - num_groups * group_bytes;
    const bool raw_tail = rest == tail * width;
    if (!raw_tail && (tail == 0 || rest != group_bytes)) {
        fail(num_values, " values of ", num_bits, " bits need ", num_groups, " groups of ", group_bytes,
             " bytes and one for the last ", tail, ", found ", packed.size(), " bytes");
    }
    const UnpackGroup unpack = unpack_group<T>(num_bits);
    const uint8_t* from = packed.data();
    for (int64_t i = 0; i < num_groups; ++i) {
        unpack(from, out);
        from += group_bytes;
        out += kGroup * width;
    }
    if (raw_tail) {
        copy(out, from, tail * width);
    } else {
        alignas(64) uint8_t group[kGroup * width];
        unpack(from, group);
        copy(out, group, tail * width);
    }
}

}  // namespace lance
