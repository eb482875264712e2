#include "string_matching.h"

#include <string_view>

#include "variable.h"

namespace lance {

namespace {

std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

void keep_strings(const ArrowArray& strings, int64_t offset_bits, const StringTest& test, bool is_sparse,
                  MutableBytes flags) {
    const auto* validity = static_cast<const uint8_t*>(strings.buffers[0]);
    const auto* offsets = static_cast<const uint8_t*>(strings.buffers[1]);
    const auto* data = static_cast<const char*>(strings.buffers[2]);
    const std::string_view low = view_of(test.low);
    const std::string_view end = view_of(test.end.value_or(Bytes()));
    const bool has_end = test.end.has_value();
    with_offset(offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        int64_t string = 0;
        for (uint8_t& flag : flags) {
            if (!flag) {
                string += !is_sparse;
                continue;
            }
            if (string == strings.length) fail("more flags than strings");
            const uint8_t* at = offsets + string * static_cast<int64_t>(sizeof(Offset));
            const auto start = load<Offset>(at);
            const std::string_view value(data + start, static_cast<size_t>(load<Offset>(at + sizeof(Offset)) - start));
            const bool is_valid = validity == nullptr || (validity[string / 8] >> (string % 8) & 1) != 0;
            const bool is_inside = value >= low && (!has_end || value < end);
            flag = static_cast<uint8_t>(is_valid && is_inside == test.inside);
            ++string;
        }
    });
}

}  // namespace lance
