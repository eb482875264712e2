// Finds the matching rows of pages without levels.
#include <algorithm>
#include <array>

#include "encodings/packed.h"
#include "layouts/array_reader.h"
#include "layouts/stored_buffers.h"
#include "predicates/string_matching.h"

namespace lance {

namespace {

// Rows that are tested together, unless all of them have failed before.
constexpr int64_t kTestedTogether = 1024;

// Drops the flags of rows from `first` on whose bit is another one than `wanted`.
void and_bits(const uint8_t* bitmap, int64_t first, bool wanted, MutableBytes flags) {
    const uint64_t others = wanted ? 0 : ~uint64_t{0};
    const int64_t count = size_of(flags);
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t now = std::min<int64_t>(64, count - i);
        const uint64_t bits = load_bits(bitmap, first + i, now) ^ others;
        for (int64_t k = 0; k < now; ++k) flags[static_cast<size_t>(i + k)] &= static_cast<uint8_t>(bits >> k & 1);
    }
}

}  // namespace

void ArrayReader::mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const {
    require_output(flags, rows.num_items(), "flags");
    int64_t position = 0;
    for_each_range(rows, [&](int64_t first, int64_t last) {
        for (; first < last; first += kTestedTogether) {
            const int64_t count = std::min(kTestedTogether, last - first);
            const MutableBytes here = flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count));
            position += count;
            if (std::memchr(here.data(), 1, here.size()) == nullptr) continue;
            if (const auto* validity = std::get_if<ValidityTest>(&test)) {
                keep_valid(bytes, first, validity->is_valid, here);
            } else if (std::holds_alternative<StoredValues>(content_)) {
                match_values(bytes, first, test, here);
            } else if (const auto* strings = std::get_if<StringTest>(&test)) {
                match_strings(bytes, first, *strings, here);
            } else if (const auto* items = std::get_if<ItemsTest>(&test)) {
                match_keys(bytes, first, *items, here);
            } else {
                fail("byte strings are tested for numbers");
            }
        }
    });
}

// Clears the flags of NULLs, or of all others, for the rows from `first` on.
void ArrayReader::keep_valid(const PageBytes& bytes, int64_t first, bool is_valid, MutableBytes flags) const {
    const int64_t count = size_of(flags);
    if (const auto* values = std::get_if<StoredValues>(&content_)) {
        if (values->validity) {
            and_bits(part_of(bytes, *values->validity).data(), first, is_valid, flags);
        } else if (!is_valid) {
            std::ranges::fill(flags, uint8_t{0});
        }
    } else if (const auto* strings = std::get_if<StoredStrings>(&content_)) {
        const Ends ends(part_of(bytes, strings->ends), strings->bytes.size, strings->null_adjustment);
        for (int64_t i = 0; i < count; ++i) {
            flags[static_cast<size_t>(i)] &= static_cast<uint8_t>(ends.of(first + i).is_null != is_valid);
        }
    } else {
        const auto& keys = std::get<StoredKeys>(content_);
        const Bytes all = part_of(bytes, keys.keys);
        with_word(keys.key_bits, [&](auto word) {
            for (int64_t i = 0; i < count; ++i) {
                const bool is_null =
                    keys.first_is_null && load<decltype(word)>(all.data() + (first + i) * sizeof(word)) == 0;
                flags[static_cast<size_t>(i)] &= static_cast<uint8_t>(is_null != is_valid);
            }
        });
    }
}

void ArrayReader::match_values(const PageBytes& bytes, int64_t first, const PageTest& test, MutableBytes flags) const {
    const auto& stored = std::get<StoredValues>(content_);
    const Bytes values = part_of(bytes, stored.values);
    if (const auto* range = std::get_if<RangeTest>(&test)) {
        if (format_.bits == 1 || format_.list_size != 0) fail("values of ", format_.bits, " bits have no range");
        const int64_t width = format_.bits / 8;
        lance::match_values(values.subspan(static_cast<size_t>(first * width)), format_.bits, range->keys, flags);
    } else if (const auto* items = std::get_if<ItemsTest>(&test)) {
        if (format_.bits != 1 || items->answers.size() != 2) fail(items->answers.size(), " answers for bits");
        if (!items->answers[0]) and_bits(values.data(), first, true, flags);
        if (!items->answers[1]) and_bits(values.data(), first, false, flags);
    } else {
        fail("values of fixed width are tested for strings");
    }
    if (stored.validity) and_bits(part_of(bytes, *stored.validity).data(), first, true, flags);
}

void ArrayReader::match_strings(const PageBytes& bytes, int64_t first, const StringTest& test,
                                MutableBytes flags) const {
    const auto* stored = std::get_if<StoredStrings>(&content_);
    if (stored == nullptr) fail("items of a dictionary are tested one by one");
    const Bytes data = part_of(bytes, stored->bytes);
    const Ends ends(part_of(bytes, stored->ends), size_of(data), stored->null_adjustment);
    std::array<uint64_t, kTestedTogether + 1> offsets;
    offsets[0] = static_cast<uint64_t>(ends.of(first - 1).position);
    for (size_t i = 0; i < flags.size(); ++i) {
        const Ends::End end = ends.of(first + static_cast<int64_t>(i));
        offsets[i + 1] = static_cast<uint64_t>(end.position);
        if (offsets[i + 1] < offsets[i]) fail("row ", first + static_cast<int64_t>(i), " ends before it begins");
        flags[i] &= static_cast<uint8_t>(!end.is_null);
    }
    const Bytes used(reinterpret_cast<const uint8_t*>(offsets.data()), 8 * (flags.size() + 1));
    match_stored_strings(used, data, test, flags);
}

void ArrayReader::match_keys(const PageBytes& bytes, int64_t first, const ItemsTest& test, MutableBytes flags) const {
    const auto* stored = std::get_if<StoredKeys>(&content_);
    if (stored == nullptr) fail("strings without a dictionary are tested for its items");
    if (size_of(test.answers) != stored->num_items)
        fail(test.answers.size(), " answers for ", stored->num_items, " items");
    const Bytes keys = part_of(bytes, stored->keys).subspan(static_cast<size_t>(first * (stored->key_bits / 8)));
    match_indices(keys, stored->key_bits, test.answers, flags);
    if (stored->first_is_null) keep_valid(bytes, first, true, flags);
}

}  // namespace lance
