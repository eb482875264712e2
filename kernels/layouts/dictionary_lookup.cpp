// Converts values of mini-block pages: indices to items of a dictionary, wide decimals to narrow ones.
#include <algorithm>

#include "encodings/decode.h"
#include "encodings/variable.h"
#include "layouts/mini_block_reader.h"

namespace lance {

MiniBlockReader::Lookup::Lookup(const MiniBlockReader& page, int64_t num_values, ColumnBuilder& out)
    : values_(page.values_), strings_(page.strings_.get()), num_values_(num_values), out_(out) {
    if (!values_.dictionary || values_.keeps_indices || !values_.dictionary->variable) {
        to_ = out.values(num_values);
        return;
    }
    to_ = out.offsets(num_values);
    position_ = out.num_bytes();
    if (strings_ != nullptr) {
        // the last one is written together with the following bytes
        bytes_ = out.bytes(multiply(num_values, strings_->longest) + ShortStrings::kBytes);
    } else {
        indices_ = PooledBuffer(multiply(num_values, values_.bits / 8));
    }
}

void MiniBlockReader::Lookup::add(Bytes decoded, int64_t count) {
    if (count > num_values_ - done_) fail("more values than were asked for");
    const int64_t width = values_.format.bits / 8;
    if (!values_.dictionary) {
        const MutableBytes here = to_.subspan(static_cast<size_t>(done_ * width));
        if (!narrow_decimal(decoded, count, here)) fail("a value does not fit ", values_.format.bits, " bits");
    } else if (values_.keeps_indices) {
        check_indices(decoded, values_.bits, count, values_.dictionary->num_items);
        widen(decoded, count, to_.data() + done_ * width);
    } else if (!values_.dictionary->variable) {
        const DictionaryItems& items = *values_.dictionary;
        gather_fixed(decoded, values_.bits, count, items.data, items.num_items, items.bits / 8,
                     to_.subspan(static_cast<size_t>(done_ * width)));
    } else if (strings_ != nullptr) {
        check_indices(decoded, values_.bits, count, values_.dictionary->num_items);
        add_short(decoded, count);
    } else {
        copy(indices_.data() + done_ * (values_.bits / 8), decoded.data(), size_of(decoded));
    }
    done_ += count;
}

void MiniBlockReader::Lookup::widen(Bytes indices, int64_t count, uint8_t* to) const {
    with_word(values_.bits, [&](auto word) {
        with_word(values_.format.bits, [&](auto wide) {
            using Index = decltype(word);
            using Wide = decltype(wide);
            for (int64_t i = 0; i < count; ++i) {
                const auto index = load<Index>(indices.data() + i * static_cast<int64_t>(sizeof(Index)));
                store(to + i * static_cast<int64_t>(sizeof(Wide)), static_cast<Wide>(index));
            }
        });
    });
}

void MiniBlockReader::Lookup::add_short(Bytes indices, int64_t count) {
    with_word(values_.bits, [&](auto word) {
        with_offset(values_.format.bits, [&](auto offset) {
            using Index = decltype(word);
            using Offset = decltype(offset);
            require_offset<Offset>(position_ + count * ShortStrings::kBytes);
            const int64_t base = out_.num_bytes();
            uint8_t* end = to_.data() + (done_ + 1) * static_cast<int64_t>(sizeof(Offset));
            int64_t position = position_;
            for (int64_t i = 0; i < count; ++i, end += sizeof(Offset)) {
                const auto index = load<Index>(indices.data() + i * static_cast<int64_t>(sizeof(Index)));
                store(bytes_.data() + (position - base), strings_->items[index]);
                position += strings_->lengths[index];
                store(end, static_cast<Offset>(position));
            }
            position_ = position;
        });
    });
}

void MiniBlockReader::Lookup::finish() {
    if (done_ != num_values_) fail(done_, " values instead of ", num_values_);
    if (strings_ != nullptr) {
        out_.add_bytes(position_ - out_.num_bytes());
        return;
    }
    if (indices_.data() == nullptr) return;
    const DictionaryItems& items = *values_.dictionary;
    const Bytes indices(indices_.data(), static_cast<size_t>(num_values_ * (values_.bits / 8)));
    const int64_t total = gather_variable_offsets(indices, values_.bits, num_values_, items.offsets, items.bits,
                                                  items.num_items, to_, values_.format.bits);
    raise_offsets(values_.format.bits, to_, num_values_, out_.num_bytes(), total);
    gather_variable_bytes(indices, values_.bits, num_values_, items.offsets, items.bits, items.num_items, items.data,
                          out_.bytes(total));
    out_.add_bytes(total);
}

ShortStrings::ShortStrings(const DictionaryItems& dictionary) {
    const auto count = static_cast<size_t>(dictionary.num_items);
    items.resize(count);
    lengths.resize(count);
    with_offset(dictionary.bits, [&](auto offset) {
        using Offset = decltype(offset);
        const auto bound = [&](size_t i) {
            return static_cast<int64_t>(load<Offset>(dictionary.offsets.data() + i * sizeof(Offset)));
        };
        for (size_t i = 0; i < count; ++i) {
            const int64_t length = bound(i + 1) - bound(i);
            copy(reinterpret_cast<uint8_t*>(&items[i]), dictionary.data.data() + bound(i), length);
            lengths[i] = static_cast<uint8_t>(length);
            longest = std::max(longest, length);
        }
    });
}

bool ShortStrings::fit(const DictionaryItems& dictionary) {
    return with_offset(dictionary.bits, [&](auto offset) {
        using Offset = decltype(offset);
        Offset longest = 0;
        for (int64_t i = 0; i < dictionary.num_items; ++i) {
            const uint8_t* at = dictionary.offsets.data() + i * static_cast<int64_t>(sizeof(Offset));
            longest = std::max<Offset>(longest, load<Offset>(at + sizeof(Offset)) - load<Offset>(at));
        }
        return longest <= static_cast<Offset>(kBytes);
    });
}

}  // namespace lance
