// Dictionaries: the distinct values of a page, numbered as they appear.
#include <algorithm>
#include <vector>

#include "encodings/encode.h"
#include "encodings/variable.h"

namespace lance {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B97F4A7C15;
constexpr uint64_t kPrime2 = 0xD6E8FEB86659FD93;

// Mixes so that the high bits depend on all bits of both.
inline uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ kPrime1) * kPrime2 ^ b;
    x ^= x >> 32;
    x *= kPrime1;
    return x ^ x >> 29;
}

// Up to 8 bytes as one word, padded with zeros.
inline uint64_t word_of(const uint8_t* at, int64_t num_bytes) {
    if (num_bytes >= 8) return load<uint64_t>(at);
    if (num_bytes >= 4) {
        return uint64_t{load<uint32_t>(at)} | uint64_t{load<uint32_t>(at + num_bytes - 4)} << 8 * (num_bytes - 4);
    }
    if (num_bytes == 0) return 0;
    return uint64_t{at[0]} | uint64_t{at[num_bytes / 2]} << 8 * (num_bytes / 2) |
           uint64_t{at[num_bytes - 1]} << 8 * (num_bytes - 1);
}

inline uint64_t hash(const uint8_t* at, int64_t num_bytes) {
    uint64_t seen = static_cast<uint64_t>(num_bytes) * kPrime1;
    for (; num_bytes > 8; at += 8, num_bytes -= 8) seen = mix(seen, load<uint64_t>(at));
    return mix(seen, word_of(at, num_bytes));
}

struct FixedValues {
    const uint8_t* values;
    int64_t width;

    uint64_t hash_of(int64_t i) const {
        const uint8_t* at = values + i * width;
        if (width == 8) return mix(load<uint64_t>(at), 8);
        return mix(load<uint64_t>(at), load<uint64_t>(at + 8));
    }
    bool equal(int64_t i, int64_t j) const {
        return std::memcmp(values + i * width, values + j * width, static_cast<size_t>(width)) == 0;
    }
};

template <class Offset>
struct Strings {
    const uint8_t* offsets;
    const uint8_t* data;

    int64_t start(int64_t i) const {
        return static_cast<int64_t>(load<Offset>(offsets + i * static_cast<int64_t>(sizeof(Offset))));
    }
    uint64_t hash_of(int64_t i) const { return hash(data + start(i), start(i + 1) - start(i)); }
    bool equal(int64_t i, int64_t j) const {
        const int64_t size = start(i + 1) - start(i);
        if (size != start(j + 1) - start(j)) return false;
        return size == 0 || std::memcmp(data + start(i), data + start(j), static_cast<size_t>(size)) == 0;
    }
};

// An open hash table of the values seen so far, by the number of each.
template <class Values>
class Seen {
  public:
    Seen(const Values& values, int64_t max_items) : values_(values), max_items_(max_items), slots_(1 << 10) {}

    // The number of value i; -1 when it would be one too many, or when too many values share its hash.
    int64_t number(int64_t i) {
        const uint64_t h = values_.hash_of(i);
        const uint32_t tag = static_cast<uint32_t>(h >> 32);
        size_t at = h & (slots_.size() - 1);
        for (int probe = 0;; ++probe, at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.item == kNone) break;
            if (slot.tag == tag && values_.equal(firsts_[slot.item], i)) return slot.item;
            if (probe == kMaxProbes) return -1;
        }
        if (static_cast<int64_t>(firsts_.size()) == max_items_) return -1;
        slots_[at] = {tag, static_cast<uint32_t>(firsts_.size())};
        firsts_.push_back(i);
        if (2 * firsts_.size() > slots_.size()) grow();
        return static_cast<int64_t>(firsts_.size()) - 1;
    }

    const std::vector<int64_t>& firsts() const { return firsts_; }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    // Values can be chosen so that all have one hash; others need a few probes in a table that is half empty.
    static constexpr int kMaxProbes = 1024;
    struct Slot {
        uint32_t tag = 0;
        uint32_t item = kNone;
    };

    void grow() {
        std::vector<Slot> larger(4 * slots_.size());
        for (uint32_t item = 0; item < firsts_.size(); ++item) {
            const uint64_t h = values_.hash_of(firsts_[item]);
            size_t at = h & (larger.size() - 1);
            while (larger[at].item != kNone) at = (at + 1) & (larger.size() - 1);
            larger[at] = {static_cast<uint32_t>(h >> 32), item};
        }
        slots_ = std::move(larger);
    }

    const Values& values_;
    int64_t max_items_;
    std::vector<Slot> slots_;
    std::vector<int64_t> firsts_;
};

template <class Values>
int64_t number_all(const Values& values, int64_t num_values, MutableBytes out_indices, MutableBytes out_firsts) {
    require_output(out_indices, 4 * num_values, "out_indices");
    Seen<Values> seen(values, std::min<int64_t>(size_of(out_firsts) / 8, UINT32_MAX - 1));
    for (int64_t i = 0; i < num_values; ++i) {
        const int64_t number = seen.number(i);
        if (number < 0) return -1;
        store(out_indices.data() + 4 * i, static_cast<uint32_t>(number));
    }
    copy(out_firsts.data(), reinterpret_cast<const uint8_t*>(seen.firsts().data()),
         8 * static_cast<int64_t>(seen.firsts().size()));
    return static_cast<int64_t>(seen.firsts().size());
}

template <class Values>
int64_t count_sampled(const Values& values, int64_t num_values, int64_t num_blocks, int64_t block_items) {
    if (block_items == 0) return 0;
    if (num_blocks > num_values / block_items) fail("a sample of more than ", num_values, " values");
    Seen<Values> seen(values, UINT32_MAX - 1);
    for (int64_t block = 0; block < num_blocks; ++block) {
        const int64_t first = num_values / num_blocks * block;
        for (int64_t i = 0; i < block_items; ++i) seen.number(first + i);
    }
    return static_cast<int64_t>(seen.firsts().size());
}

FixedValues fixed_values(Bytes values, int64_t width, int64_t num_values) {
    if (width != 8 && width != 16) fail("values of ", width, " bytes, not 8 or 16");
    require_input(values, multiply(num_values, width), "values");
    return {values.data(), width};
}

template <class Offset>
Strings<Offset> strings(Bytes offsets, int64_t num_values, Bytes data) {
    check_offsets<Offset>(offsets, num_values, size_of(data));
    return {offsets.data(), data.data()};
}

}  // namespace

int64_t number_fixed(Bytes values, int64_t width, int64_t num_values, MutableBytes out_indices,
                     MutableBytes out_firsts) {
    return number_all(fixed_values(values, width, num_values), num_values, out_indices, out_firsts);
}

int64_t number_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, MutableBytes out_indices,
                       MutableBytes out_firsts) {
    return with_offset(offset_bits, [&](auto offset) {
        return number_all(strings<decltype(offset)>(offsets, num_values, data), num_values, out_indices, out_firsts);
    });
}

int64_t sample_fixed(Bytes values, int64_t width, int64_t num_values, int64_t num_blocks, int64_t block_items) {
    return count_sampled(fixed_values(values, width, num_values), num_values, num_blocks, block_items);
}

int64_t sample_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, int64_t num_blocks,
                       int64_t block_items) {
    return with_offset(offset_bits, [&](auto offset) {
        return count_sampled(strings<decltype(offset)>(offsets, num_values, data), num_values, num_blocks, block_items);
    });
}

}  // namespace lance
