// Lists of documents of full text indices.
#pragma once

#include "system/bytes.h"

namespace lance {

// Documents and frequencies, u32 each, of a list of `num_documents` in blocks: block j is at offsets[j] to offsets[j +
// 1] of `blocks`, and has `block_size` documents, 128 or 256, the last one the rest. is_varint: the last block has
// differences of 7 bits a byte, else numbers of 32 bits. Documents ascend, and are below `most_documents`.
void decode_postings(Bytes blocks, Bytes offsets, int64_t num_documents, int64_t block_size, bool is_varint,
                     int64_t most_documents, MutableBytes documents, MutableBytes frequencies);

}  // namespace lance
