// Collects the byte strings of chunks that have a flag, as stored: codes are moved instead of the longer strings that
// they encode.
#pragma once

#include "encodings/chunks.h"
#include "system/buffers.h"

namespace lance {

// This many bytes after the last string may be overwritten.
constexpr int64_t kFlaggedSlack = 16;

// Bytes of the strings whose flags are set, one flag for each of the rows.
int64_t num_flagged_bytes(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags);

// Writes those strings, and their offsets: one more than strings, from 0 on. Returns their number of bytes.
//
// offset_bits: of the offsets in the chunks; out_offset_bits: of those that are written, for `count` strings
// bytes: with kFlaggedSlack bytes more than the strings have
int64_t copy_flagged(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags, int64_t count,
                     MutableBytes offsets, int64_t out_offset_bits, MutableBytes bytes);

// A copy in new memory.
class FlaggedStrings {
  public:
    FlaggedStrings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags, int64_t count);

    Bytes offsets() const { return {offsets_.data(), static_cast<size_t>((count_ + 1) * (offset_bits_ / 8))}; }
    int64_t offset_bits() const { return offset_bits_; }
    Bytes bytes() const { return {bytes_.data(), static_cast<size_t>(num_bytes_)}; }

  private:
    int64_t count_;
    int64_t offset_bits_;
    int64_t num_bytes_;
    PooledBuffer offsets_;
    PooledBuffer bytes_;
};

}  // namespace lance
