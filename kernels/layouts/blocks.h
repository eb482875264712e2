// Values that are encoded in one buffer: the items of a dictionary, the levels of a constant page.
#pragma once

#include <memory>
#include <vector>

#include "layouts/encoding_tree.h"

namespace lance {

// Memory that stays where it is until this object ends.
class OwnBytes {
  public:
    MutableBytes take(int64_t num_bytes);
    Bytes copy_of(Bytes bytes);
    int64_t size() const { return size_; }

  private:
    std::vector<std::unique_ptr<uint8_t[]>> parts_;
    int64_t size_ = 0;
};

// Values of fixed width, or byte strings by their offsets.
struct Block {
    int64_t num_values = 0;
    int64_t bits = 0;  // of a value, or of an offset
    bool variable = false;
    Bytes offsets;
    Bytes data;
};

// The bits of the values of runs, whose lengths are bytes. Throws Unsupported for other runs.
int64_t run_bits(const EncodingTree& encoding);

// Decodes a block of num_values values, into `own` if it is not stored as it is; otherwise the block points into
// `stored`. Throws Unsupported for an encoding that blocks cannot have.
Block decode_block(const EncodingTree& encoding, Bytes stored, int64_t num_values, OwnBytes& own);

}  // namespace lance
