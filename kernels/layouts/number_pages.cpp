// Facts of many short columns in one call, then their pages.
#include "layouts/number_pages.h"

#include <algorithm>

#include "encodings/encode.h"
#include "encodings/packed.h"

namespace lance {

namespace {

// Numbers as the kernels of chunks take them.
Bytes bytes_of(const std::vector<int64_t>& numbers) {
    return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(int64_t)};
}

// Chunks of as many items each; the last one has the rest.
std::vector<int64_t> uniform_starts(int64_t num_values, int64_t chunk_items) {
    std::vector<int64_t> starts;
    for (int64_t start = 0; start < num_values; start += chunk_items) starts.push_back(start);
    starts.push_back(num_values);
    return starts;
}

int64_t group_bytes(int64_t word_bits, uint8_t width) { return word_bits / 8 + 128 * width; }

// The other numbers are checked against the bytes that are there.
void check_words(Bytes values, int64_t word_bits, int64_t num_values) {
    if (word_bits != 8 && word_bits != 16 && word_bits != 32 && word_bits != 64) fail("words of ", word_bits, " bits");
    require_input(values, multiply(num_values, word_bits) / 8, "values");
    if (num_values == 0) fail("a page without values");
}

int64_t padded(int64_t size) { return (size + 7) / 8 * 8; }

// The values of chunks in sequence, and the first value of each chunk.
struct ChunkedNumbers {
    std::vector<uint8_t> packed;  // of plain values nothing
    std::vector<int64_t> starts;
};

ChunkedNumbers chunked(Bytes values, int64_t word_bits, int64_t num_values, const std::vector<int64_t>& items,
                       bool is_packed) {
    ChunkedNumbers made;
    if (!is_packed) {
        for (const int64_t item : items) made.starts.push_back(item * (word_bits / 8));
        return made;
    }
    std::vector<uint8_t> widths(items.size() - 1);
    group_widths(values, word_bits, num_values, bytes_of(items), widths);
    made.starts.push_back(0);
    for (const uint8_t width : widths) made.starts.push_back(made.starts.back() + group_bytes(word_bits, width));
    made.packed.resize(static_cast<size_t>(made.starts.back()));
    pack_inline(values, word_bits, num_values, bytes_of(items), widths, made.packed);
    return made;
}

// Size and number of items of a chunk; the last one has the remaining items.
void put_word(int64_t chunk_bytes, int64_t log2_items, bool large, uint8_t* to) {
    const int64_t word = (chunk_bytes / 8 - 1) << 4 | log2_items;
    if (large) {
        store(to, static_cast<uint32_t>(word));
    } else {
        store(to, static_cast<uint16_t>(word));
    }
}

}  // namespace

NumberFacts number_facts(Bytes values, int64_t word_bits, int64_t num_values) {
    check_words(values, word_bits, num_values);
    const std::vector<int64_t> items = uniform_starts(num_values, kGroup);
    std::vector<uint8_t> widths(items.size() - 1);
    group_widths(values, word_bits, num_values, bytes_of(items), widths);
    NumberFacts facts{count_changes(values, word_bits, num_values), 0};
    for (const uint8_t width : widths) facts.packed_bytes += group_bytes(word_bits, width);
    return facts;
}

NumberPage number_page(Bytes values, int64_t word_bits, int64_t num_values, int64_t log2_items, bool is_packed,
                       bool large) {
    check_words(values, word_bits, num_values);
    if (log2_items < 1 || log2_items > 15) fail("chunks of 2^", log2_items, " values");
    const std::vector<int64_t> items = uniform_starts(num_values, int64_t{1} << log2_items);
    const ChunkedNumbers numbers = chunked(values, word_bits, num_values, items, is_packed);
    const auto num_chunks = static_cast<int64_t>(items.size()) - 1;
    const int64_t word_bytes = large ? 4 : 2;
    const int64_t most_bytes = large ? kMaxCount : int64_t{1} << 15;
    NumberPage page;
    page.words.resize(static_cast<size_t>(num_chunks * word_bytes));
    std::vector<int64_t> starts{0};
    for (int64_t i = 0; i < num_chunks; ++i) {
        const auto chunk = static_cast<size_t>(i);
        // the number of levels, which is 0, and the size of the values
        const int64_t size = padded(2 + word_bytes) + padded(numbers.starts[chunk + 1] - numbers.starts[chunk]);
        if (size > most_bytes) fail("a chunk of ", size, " bytes");
        put_word(size, i + 1 < num_chunks ? log2_items : 0, large, page.words.data() + i * word_bytes);
        starts.push_back(starts.back() + size);
    }
    page.chunks.resize(static_cast<size_t>(starts.back()));
    ChunkParts parts;
    parts.values.emplace_back(is_packed ? Bytes(numbers.packed) : values, bytes_of(numbers.starts));
    const std::vector<uint8_t> no_levels(static_cast<size_t>(2 * num_chunks));
    assemble_chunks(bytes_of(starts), no_levels, parts, large, page.chunks);
    return page;
}

}  // namespace lance
