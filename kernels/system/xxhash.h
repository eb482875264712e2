// xxHash64 with seed 0, of bytes in one piece and of bytes that come in many.
//
// Source: xxHash fast digest algorithm, XXH64.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "system/bytes.h"

namespace lance {

namespace xxhash {

inline constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
inline constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
inline constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
inline constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
inline constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;
inline constexpr int64_t kStripeBytes = 32;

inline uint64_t take_in(uint64_t lane, uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

inline uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ take_in(0, lane)) * kPrime1 + kPrime4; }

class Lanes {
  public:
    // Adds whole stripes; returns the start of the rest.
    const uint8_t* take(const uint8_t* at, int64_t num_stripes) {
        std::array<uint64_t, 4> lanes = lanes_;
        for (; num_stripes > 0; --num_stripes) {
            for (uint64_t& lane : lanes) {
                lane = take_in(lane, load<uint64_t>(at));
                at += 8;
            }
        }
        lanes_ = lanes;
        return at;
    }

    uint64_t merged() const {
        uint64_t hash =
            std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
        for (const uint64_t lane : lanes_) hash = merge(hash, lane);
        return hash;
    }

  private:
    std::array<uint64_t, 4> lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
};

// The hash of the added bytes, followed by fewer bytes than a stripe.
inline uint64_t finish(uint64_t hash, const uint8_t* at, int64_t num_bytes) {
    for (; num_bytes >= 8; at += 8, num_bytes -= 8) {
        hash = std::rotl(hash ^ take_in(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    }
    if (num_bytes >= 4) {
        hash = std::rotl(hash ^ uint64_t{load<uint32_t>(at)} * kPrime1, 23) * kPrime2 + kPrime3;
        at += 4;
        num_bytes -= 4;
    }
    for (; num_bytes > 0; ++at, --num_bytes) hash = std::rotl(hash ^ *at * kPrime5, 11) * kPrime1;
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
}

}  // namespace xxhash

inline uint64_t xxhash64(const uint8_t* at, int64_t num_bytes) {
    using namespace xxhash;
    const auto total = static_cast<uint64_t>(num_bytes);
    if (num_bytes < kStripeBytes) return finish(kPrime5 + total, at, num_bytes);
    Lanes lanes;
    at = lanes.take(at, num_bytes / kStripeBytes);
    return finish(lanes.merged() + total, at, num_bytes % kStripeBytes);
}

// The hash of bytes that come piece by piece.
class StreamingHash {
  public:
    void update(Bytes data) {
        num_bytes_ += data.size();
        const uint8_t* at = data.data();
        auto left = static_cast<int64_t>(data.size());
        if (num_begun_ > 0) {
            const int64_t count = std::min(left, xxhash::kStripeBytes - num_begun_);
            copy(begun_.data() + num_begun_, at, count);
            num_begun_ += count;
            at += count;
            left -= count;
            if (num_begun_ < xxhash::kStripeBytes) return;
            lanes_.take(begun_.data(), 1);
            num_begun_ = 0;
        }
        at = lanes_.take(at, left / xxhash::kStripeBytes);
        num_begun_ = left % xxhash::kStripeBytes;
        copy(begun_.data(), at, num_begun_);
    }

    int64_t num_bytes() const { return static_cast<int64_t>(num_bytes_); }

    uint64_t finish() const {
        const bool has_stripes = num_bytes_ >= static_cast<uint64_t>(xxhash::kStripeBytes);
        return xxhash::finish((has_stripes ? lanes_.merged() : xxhash::kPrime5) + num_bytes_, begun_.data(),
                              num_begun_);
    }

  private:
    xxhash::Lanes lanes_;
    std::array<uint8_t, xxhash::kStripeBytes> begun_{};
    int64_t num_begun_ = 0;
    uint64_t num_bytes_ = 0;
};

}  // namespace lance
