// Collects the values with a flag.
#pragma once

#include <cstring>

#include "predicates/filter_loops.h"
#include "system/bytes.h"

namespace lance {

inline bool has_flags(Bytes flags) { return std::memchr(flags.data(), 1, flags.size()) != nullptr; }

constexpr int64_t kFlagsTogether = 8;

// Collects the items that have a flag. Room for eight items more than are left would let every item be written; the
// last ones are written one by one.
template <class Item>
class Collector {
  public:
    explicit Collector(MutableBytes out) : at_(out.data()), end_(out.data() + out.size()) {}

    int64_t add(const uint8_t* values, const uint8_t* flags, int64_t num_values) {
        uint8_t* const before = at_;
        int64_t i = 0;
        if constexpr (width >= 4) {
            const CompactItems compact = width == 4   ? filter_loops.compact4
                                         : width == 8 ? filter_loops.compact8
                                                      : filter_loops.compact16;
            const Compacted done = compact(values, flags, num_values, at_, (end_ - at_) / width);
            i = done.num_values;
            at_ += done.num_items * width;
        }
        for (; i + kFlagsTogether <= num_values && end_ - at_ >= kFlagsTogether * width; i += kFlagsTogether) {
            const auto together = load<uint64_t>(flags + i);
            if (together == 0) continue;
            for (int64_t k = 0; k < kFlagsTogether; ++k) {
                store(at_, load<Item>(values + (i + k) * width));
                at_ += (together >> (8 * k) & 1) * width;
            }
        }
        for (; i < num_values; ++i) {
            if (!flags[i]) continue;
            if (end_ - at_ < width) fail("more items have a flag than fit into out");
            store(at_, load<Item>(values + i * width));
            at_ += width;
        }
        return (at_ - before) / width;
    }

    void put(Item item) {
        if (end_ - at_ < width) fail("more items have a flag than fit into out");
        store(at_, item);
        at_ += width;
    }

  private:
    static constexpr int64_t width = sizeof(Item);

    uint8_t* at_;
    uint8_t* end_;
};

}  // namespace lance
