// Source: Parquet, split block bloom filter.
#include "search/bloom.h"

#include "system/xxhash.h"

namespace lance {

namespace {

constexpr int64_t kBlockBytes = 32;
constexpr uint32_t kSalt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                               0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

template <class Offset>
void hash_between(Bytes offsets, int64_t num_values, Bytes data, MutableBytes out) {
    const auto offset = [&](int64_t i) {
        return static_cast<int64_t>(load<Offset>(offsets.data() + i * static_cast<int64_t>(sizeof(Offset))));
    };
    int64_t start = num_values > 0 ? offset(0) : 0;
    if (start < 0) fail("offset ", start, " is negative");
    for (int64_t i = 0; i < num_values; ++i) {
        const int64_t end = offset(i + 1);
        if (end < start || end > size_of(data))
            fail("string ", i, " at bytes ", start, " to ", end, " of ", data.size());
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
        uint8_t* block =
            filter.data() + kBlockBytes * static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(num_blocks) >> 32);
        for (int64_t word = 0; word < 8; ++word) {
            const uint32_t bit = (static_cast<uint32_t>(hash) * kSalt[word]) >> 27;
            store(block + 4 * word, load<uint32_t>(block + 4 * word) | uint32_t{1} << bit);
        }
    }
}

}  // namespace lance
