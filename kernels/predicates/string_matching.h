// Which byte strings match, and moving those that do.
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

// Clears the flags of strings that do not match, where they lie in chunks as they are.
void match_strings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, const StringTest& test,
                   MutableBytes flags);

// Clears the flags of strings that do not match, which lie in `data`.
//
// offsets: u64, ascending, one more than there are flags; none is behind the end of `data`
void match_stored_strings(Bytes offsets, Bytes data, const StringTest& test, MutableBytes flags);

// Clears the flags of strings that do not match.
void keep_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags);

// The same; those that match move to the front, with their offsets. Returns how many bytes they have.
int64_t filter_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags);

}  // namespace lance
