// Matches byte strings, and moves the matches together.
#pragma once

#include "predicates/page_test.h"

namespace lance {

// Strings whose offsets count from `data` on.
struct DecodedStrings {
    uint8_t* offsets;  // one more than there are strings
    int64_t offset_bits;
    uint8_t* data;
    int64_t num_bytes;  // that may be read from `data` on
    int64_t count;
    bool are_flagged;  // these are the strings that have a flag; false: one for each of the flags
};

// Clears the flags of strings in uncompressed chunks that do not match.
void match_strings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, const StringTest& test,
                   MutableBytes flags);

// Clears the flags of strings in `data` that do not match.
//
// offsets: u64, ascending, one more than flags; none is past the end of `data`
void match_stored_strings(Bytes offsets, Bytes data, const StringTest& test, MutableBytes flags);

// Clears the flags of strings that do not match.
void keep_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags);

// Also moves the matches and their offsets to the front; returns their number of bytes.
int64_t filter_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags);

}  // namespace lance
