// Byte strings of chunks that have a flag, one behind the other: as they are stored, so that codes are moved instead of
// the longer strings that they stand for.
#pragma once

#include "encodings/chunks.h"
#include "system/buffers.h"

namespace lance {

// Behind the last string anything may be written in so many bytes.
constexpr int64_t kFlaggedSlack = 16;

// How many bytes the strings have whose flags are set, one flag for each of the rows.
int64_t num_flagged_bytes(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags);

// Writes those strings, and where they begin and end: one offset more than there are, from 0 on. Returns how many bytes
// they have.
//
// offset_bits: of the offsets in the chunks; out_offset_bits: of those that are written, for `count` strings
// bytes: with kFlaggedSlack bytes more than the strings have
int64_t copy_flagged(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags, int64_t count,
                     MutableBytes offsets, int64_t out_offset_bits, MutableBytes bytes);

// The same in memory of its own.
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
