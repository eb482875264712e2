// Source: xxHash fast digest algorithm, XXH64; Parquet, split block bloom filter.
#include "bloom.h"

#include <bit>

namespace lance {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

constexpr int64_t kBlockBytes = 32;
constexpr uint32_t kSalt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                               0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

inline uint64_t take_in(uint64_t lane, uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

inline uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ take_in(0, lane)) * kPrime1 + kPrime4; }

uint64_t xxhash64(const uint8_t* at, int64_t num_bytes) {
    const uint64_t total = static_cast<uint64_t>(num_bytes);
    uint64_t hash = kPrime5;
    if (num_bytes >= 32) {
        uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
        for (; num_bytes >= 32; num_bytes -= 32) {
            for (uint64_t& lane : lanes) {
                lane = take_in(lane, load<uint64_t>(at));
                at += 8;
            }
        }
        hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
        for (const uint64_t lane : lanes) hash = merge(hash, lane);
    }
    hash += total;
    for (; num_bytes >= 8; at += 8, num_bytes -= 8) {
        hash = std::rotl(hash ^ take_in(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    }
    if (num_bytes >= 4) {
        hash = std::rotl(hash ^ uint64_t{load<uint32_t>(at)} * kPrime1, 23) * kPrime2 + kPrime3;
        at += 4;
        num_bytes -= 4;
    }
    for (; num_bytes > 0; ++at, --num_bytes) hash = std::rotl(hash ^ *at * kPrime5, 11) * kPrime1;
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
}

template <class Offset>
void hash_between(Bytes offsets, int64_t num_values, Bytes data, MutableBytes out) {
    const auto offset = [&](int64_t i) {
        return static_cast<int64_t>(load<Offset>(offsets.data() + i * static_cast<int64_t>(sizeof(Offset))));
    };
    int64_t start = num_values > 0 ? offset(0) : 0;
    if (start < 0) fail("offset ", start, " is negative");
    for (int64_t i = 0; i < num_values; ++i) {
        const int64_t end = offset(i + 1);
        if (end < start || end > size_of(data)) fail("string ", i, " at bytes ", start, " to ", end, " of ", data.size());
        store(out.data() + 8 * i, xxhash64(data.data() + start, end - start));
        start = end;
    }
}

}  // namespace

void hash_fixed(Bytes values, int64_t width, int64_t num_values, MutableBytes out) {
    if (width < 1) fail("values of ", width, " bytes");
    require_input(values, multiply(num_values, width), "values");
    require_output(out, multiply(num_values, 8));
    for (int64_t i = 0; i < num_values; ++i) store(out.data() + 8 * i, xxhash64(values.data() + i * width, width));
}

void hash_strings(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, MutableBytes out) {
    if (offset_bits != 32 && offset_bits != 64) fail("offsets of ", offset_bits, " bits");
    require_input(offsets, multiply(num_values + 1, offset_bits / 8), "offsets");
    require_output(out, multiply(num_values, 8));
    if (offset_bits == 32) {
        hash_between<int32_t>(offsets, num_values, data, out);
    } else {
        hash_between<int64_t>(offsets, num_values, data, out);
    }
}

void bloom_insert(Bytes hashes, MutableBytes filter) {
    const int64_t num_blocks = size_of(filter) / kBlockBytes;
    if (num_blocks < 1 || size_of(filter) % kBlockBytes != 0 || num_blocks > int64_t{1} << 31) {
        fail("a bloom filter of ", filter.size(), " bytes");
    }
    for (int64_t i = 0; i < size_of(hashes) / 8; ++i) {
        const uint64_t hash = load<uint64_t>(hashes.data() + 8 * i);
        uint8_t* block = filter.data() + kBlockBytes * static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(num_blocks) >> 32);
        for (int64_t word = 0; word < 8; ++word) {
            const uint32_t bit = (static_cast<uint32_t>(hash) * kSalt[word]) >> 27;
            store(block + 4 * word, load<uint32_t>(block + 4 * word) | uint32_t{1} << bit);
        }
    }
}

}  // namespace lance
