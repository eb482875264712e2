// Finds the strings of an Arrow array that contain a text.
//
//     data     | the quick fox | jumps over | a fo | x and a dog |     all strings as one text
//                          ^^^ found                ^^^ found, but across two strings
//
// Searches blocks for positions at which the first and the last byte of the text match. Moves on to the next string
// after the first position at which the text begins, whether it ends in the same string or not.
#pragma once

#include "system/bytes.h"

namespace lance {

// Sets a bit for each string that contains the text, which is not empty, and clears all others.
//
// offsets: of the strings in `data`, one more than there are strings; ascending
// offset_bits: 32 or 64
// out: a bit for each string
void contains(Bytes offsets, int64_t offset_bits, int64_t num_strings, Bytes data, Bytes text, MutableBytes out);

}  // namespace lance
