// Passes values of pages without levels to the observers that learn the bounds of zones.
#include <algorithm>
#include <array>

#include "encodings/packed.h"
#include "encodings/variable.h"
#include "layouts/array_reader.h"
#include "layouts/stored_buffers.h"
#include "predicates/zone_bounds.h"

namespace lance {

namespace {

// So many keys of strings are made together.
constexpr int64_t kKeysTogether = 2048;

// Calls key(i, is_null) for each of the rows of which the observer wants some.
template <class Key>
void add_keys(const Ranges& rows, int64_t first_row, ZoneObserver& out, Key key) {
    out.require_strings();
    std::array<uint64_t, kKeysTogether> keys;
    std::array<uint16_t, kKeysTogether> levels;
    for_each_range(rows, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; row += kKeysTogether) {
            const int64_t count = std::min(kKeysTogether, last - row);
            if (!out.wants(first_row + row, count)) continue;
            for (int64_t i = 0; i < count; ++i) {
                bool is_null = false;
                keys[static_cast<size_t>(i)] = key(row + i, is_null);
                levels[static_cast<size_t>(i)] = is_null;
            }
            out.add(first_row + row, reinterpret_cast<const uint8_t*>(keys.data()),
                    reinterpret_cast<const uint8_t*>(levels.data()), count);
        }
    });
}

}  // namespace

void ArrayReader::observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const {
    if (const auto* values = std::get_if<StoredValues>(&content_)) {
        if (format_.bits != out.num_bits() || format_.list_size != 0) return;
        const Bytes stored = part_of(bytes, values->values);
        std::optional<Bytes> validity;
        if (values->validity) validity = part_of(bytes, *values->validity);
        for_each_range(rows, [&](int64_t first, int64_t last) {
            out.add_array(first_row + first, stored, validity, first, last - first);
        });
    } else if (const auto* strings = std::get_if<StoredStrings>(&content_)) {
        const Bytes data = part_of(bytes, strings->bytes);
        const Ends ends(part_of(bytes, strings->ends), size_of(data), strings->null_adjustment);
        add_keys(rows, first_row, out, [&](int64_t row, bool& is_null) {
            const int64_t start = ends.of(row - 1).position;
            const Ends::End end = ends.of(row);
            if (end.position < start) fail("row ", row, " ends before it begins");
            is_null = end.is_null;
            return string_key(data.data() + start, end.position - start, size_of(data) - start);
        });
    } else {
        const auto& stored_keys = std::get<StoredKeys>(content_);
        const Bytes keys = part_of(bytes, stored_keys.keys);
        with_word(stored_keys.key_bits, [&](auto word) {
            with_offset(stored_keys.offset_bits, [&](auto offset) {
                add_keys(rows, first_row, out, [&](int64_t row, bool& is_null) {
                    const auto item = static_cast<uint64_t>(
                        load<decltype(word)>(keys.data() + row * static_cast<int64_t>(sizeof(word))));
                    if (item >= static_cast<uint64_t>(stored_keys.num_items))
                        fail("item ", item, " of ", stored_keys.num_items);
                    is_null = stored_keys.first_is_null && item == 0;
                    const uint8_t* at = stored_keys.offsets.data() + item * sizeof(offset);
                    const auto start = static_cast<int64_t>(load<decltype(offset)>(at));
                    const auto end = static_cast<int64_t>(load<decltype(offset)>(at + sizeof(offset)));
                    return string_key(stored_keys.data.data() + start, end - start, size_of(stored_keys.data) - start);
                });
            });
        });
    }
}

}  // namespace lance
