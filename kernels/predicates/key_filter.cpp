// One pass over keys that sets their flags, and one over others for those whose flag is set.
#include "predicates/key_filter.h"

#include <algorithm>
#include <bit>

namespace lance {

namespace {

// 2^64 divided by the golden ratio, as in Fibonacci hashing: keys that follow each other, or that have zeros at the
// end, come to places far apart.
constexpr uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15;
constexpr int64_t kMostBits = 30;
constexpr size_t kBlock = 1024;

template <class Call>
auto with_width(int64_t width, Call call) {
    switch (width) {
        case 1: return call(uint8_t{});
        case 2: return call(uint16_t{});
        case 4: return call(uint32_t{});
        case 8: return call(uint64_t{});
        default: fail("keys of ", width, " bytes");
    }
}

}  // namespace

std::vector<uint8_t> key_filter(Bytes keys, int64_t width, int64_t bits) {
    if (bits < 1 || bits > kMostBits) fail("a table of ", bits, " bits");
    std::vector<uint8_t> flags(size_t{1} << bits);
    with_width(width, [&](auto number) {
        using T = decltype(number);
        for (size_t i = 0; i + sizeof(T) <= keys.size(); i += sizeof(T)) {
            flags[(load<T>(keys.data() + i) * kMultiplier) >> (64 - bits)] = 1;
        }
    });
    return flags;
}

std::vector<int64_t> passing_keys(Bytes keys, int64_t width, Bytes flags) {
    if (flags.size() < 2 || !std::has_single_bit(flags.size())) fail("a table of ", flags.size(), " bytes");
    const int shift = 64 - std::countr_zero(flags.size());
    return with_width(width, [&](auto number) {
        using T = decltype(number);
        const size_t count = keys.size() / sizeof(T);
        // always written, and kept if the flag is set: no branch to predict
        std::vector<int64_t> indices;
        int64_t block[kBlock];
        for (size_t start = 0; start < count; start += kBlock) {
            const size_t end = std::min(start + kBlock, count);
            size_t num_passing = 0;
            for (size_t i = start; i < end; ++i) {
                block[num_passing] = static_cast<int64_t>(i);
                num_passing += flags[(load<T>(keys.data() + i * sizeof(T)) * kMultiplier) >> shift] & 1;
            }
            indices.insert(indices.end(), block, block + num_passing);
        }
        return indices;
    });
}

}  // namespace lance
