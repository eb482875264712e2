// Pages of a few numbers, which wide tables have thousands of.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// Properties that decide how the numbers of a page are encoded.
struct NumberFacts {
    int64_t num_changes;   // how many differ from the one before
    int64_t packed_bytes;  // bit-packed, in groups of 1024
};

NumberFacts number_facts(Bytes values, int64_t word_bits, int64_t num_values);

// A mini-block page without levels: its words, one for each chunk, and its chunks.
struct NumberPage {
    std::vector<uint8_t> words;
    std::vector<uint8_t> chunks;
};

// log2_items: items of a chunk; those of a group where `is_packed`
NumberPage number_page(Bytes values, int64_t word_bits, int64_t num_values, int64_t log2_items, bool is_packed,
                       bool large);

}  // namespace lance
