// Bit-packed buffers: a group that begins with its own width, and groups of a width given elsewhere.
#pragma once

#include <algorithm>

#include "encodings/unpack_group.h"
#include "system/bits.h"

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

// One value: its lowest bits are in the word at `at`, those that this word does not hold in the one `next` bytes on.
struct PackedValue {
    const uint8_t* at;
    uint32_t next;  // 0 if the word holds all of them
    uint8_t shift;
    uint8_t num_bits;

    template <class T>
    T get() const {
        constexpr int64_t bits = 8 * sizeof(T);
        const uint64_t low = uint64_t{load<T>(at)} >> shift;
        // Without a branch, which cannot be predicted: the extra bits of the word are cut off below.
        const uint64_t high = uint64_t{load<T>(at + next)} << 1 << (bits - 1 - shift);
        return static_cast<T>((low | high) & low_bits(num_bits));
    }
};

// Single values of such a group; see unpack_group.h for their positions.
template <class T>
class PackedGroup {
  public:
    explicit PackedGroup(Bytes packed)
        : words_(packed.data() + sizeof(T)), num_bits_(static_cast<int64_t>(inline_width<T>(packed))) {}

    // Value `index`, which is below 1024.
    PackedValue find(int64_t index) const {
        static constexpr T zero = 0;
        if (num_bits_ == 0) return {reinterpret_cast<const uint8_t*>(&zero), 0, 0, 0};
        // Numbers of fixed size: divisions by powers of two are shifts of what has no sign.
        const auto at = static_cast<uint64_t>(index);
        const uint64_t lane = at % kLanes;
        const uint64_t order = (at % 128 - lane) / 16;
        // The order of eight is its own inverse: the bits of a number turned around.
        const uint64_t row = 8 * ((order & 1) << 2 | (order & 2) | order >> 2) + at / 128;
        const uint64_t bit = row * static_cast<uint64_t>(num_bits_);
        const uint64_t shift = bit % kBits;
        return {words_ + (bit / kBits * kLanes + lane) * sizeof(T),
                shift + static_cast<uint64_t>(num_bits_) > kBits ? static_cast<uint32_t>(kLanes * sizeof(T)) : 0,
                static_cast<uint8_t>(shift), static_cast<uint8_t>(num_bits_)};
    }

  private:
    static constexpr uint64_t kBits = 8 * sizeof(T);
    static constexpr uint64_t kLanes = kGroup / kBits;

    const uint8_t* words_;
    int64_t num_bits_;
};

// A word holding W, then one group of W bits; writes 1024 words.
template <class T>
void unpack_inline(Bytes packed, uint8_t* out) {
    const uint64_t num_bits = inline_width<T>(packed);
    unpack_group<T>(static_cast<int64_t>(num_bits))(packed.data() + sizeof(T), out);
}

// Unpacks only the first num_values of the group.
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
