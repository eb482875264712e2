// Looks through all strings of an array as one text, in blocks that the compiler compares with vectors.
#include "predicates/substrings.h"

#include <algorithm>
#include <array>
#include <bit>

namespace lance {

namespace {

constexpr int64_t kBlock = 64;

// A bit for each byte, which is 0 or 1.
uint64_t to_bits(const std::array<uint8_t, kBlock>& flags) {
    uint64_t bits = 0;
    for (size_t i = 0; i < kBlock; i += 8) {
        // The product brings the lowest bits of eight bytes together in the highest byte, the first one lowest.
        bits |= ((load<uint64_t>(flags.data() + i) * 0x0102040810204080) >> 56) << i;
    }
    return bits;
}

// The first position in [at, end) at which the text begins, or `end`. Each position is followed by as many bytes as the
// text has.
const uint8_t* find(const uint8_t* at, const uint8_t* end, Bytes text) {
    const uint8_t first = text.front();
    const uint8_t last = text.back();
    const size_t to_last = text.size() - 1;
    const auto is_here = [&](const uint8_t* position) {
        return *position == first && position[to_last] == last && std::memcmp(position, text.data(), text.size()) == 0;
    };
    std::array<uint8_t, kBlock> fits;
    for (; end - at >= kBlock; at += kBlock) {
        const uint8_t* const at_last = at + to_last;
        uint8_t any = 0;
        for (size_t i = 0; i < kBlock; ++i) {
            fits[i] = static_cast<uint8_t>((at[i] == first) & (at_last[i] == last));
            any |= fits[i];
        }
        if (!any) continue;
        for (uint64_t left = to_bits(fits); left != 0; left &= left - 1) {
            const uint8_t* const here = at + std::countr_zero(left);
            if (std::memcmp(here, text.data(), text.size()) == 0) return here;
        }
    }
    while (at != end && !is_here(at)) ++at;
    return at;
}

template <class Offset>
void contains(Bytes offsets, int64_t num_strings, Bytes data, Bytes text, MutableBytes out) {
    const auto offset = [&](int64_t string) {
        return static_cast<int64_t>(load<Offset>(offsets.data() + static_cast<int64_t>(sizeof(Offset)) * string));
    };
    int64_t before = offset(0);
    if (before < 0) fail("strings that begin at byte ", before);
    for (int64_t string = 1; string <= num_strings; ++string) {
        const int64_t here = offset(string);
        if (here < before) fail("string ", string - 1, " ends before it begins");
        before = here;
    }
    if (before > size_of(data)) fail("strings of ", before, " bytes in ", data.size());
    const auto size = size_of(text);
    const uint8_t* const begin = data.data();
    const uint8_t* at = begin + offset(0);
    // after it no string has room for the text
    const uint8_t* const end = begin + std::max(before - size + 1, offset(0));
    int64_t string = 0;
    while ((at = find(at, end, text)) != end) {
        const int64_t position = at - begin;
        while (offset(string + 1) <= position) ++string;
        // Without room for the text up to the end of the string, later positions have none either.
        if (offset(string + 1) - position >= size) {
            out[static_cast<size_t>(string / 8)] |= static_cast<uint8_t>(1 << string % 8);
        }
        at = std::min(begin + offset(string + 1), end);
    }
}

}  // namespace

void contains(Bytes offsets, int64_t offset_bits, int64_t num_strings, Bytes data, Bytes text, MutableBytes out) {
    if (offset_bits != 32 && offset_bits != 64) fail("offsets of ", offset_bits, " bits");
    if (text.empty()) fail("a text of no bytes");
    require_input(offsets, multiply(num_strings + 1, offset_bits / 8), "offsets");
    require_output(out, bytes_for_bits(num_strings));
    std::fill_n(out.begin(), bytes_for_bits(num_strings), uint8_t{0});
    if (offset_bits == 32) {
        contains<int32_t>(offsets, num_strings, data, text, out);
    } else {
        contains<int64_t>(offsets, num_strings, data, text, out);
    }
}

}  // namespace lance
