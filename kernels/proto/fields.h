// The fields of a message by their numbers. As in every reader of protobuf, the last value of a field counts, and
// fields that are not known, or have another type, are skipped.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "proto/wire.h"

namespace lance {

class Fields {
  public:
    // The highest field number that can be asked for.
    static constexpr int kMost = 15;

    explicit Fields(Bytes message);

    bool has_number(int field) const { return (have_number_ >> field & 1) != 0; }
    bool has_bytes(int field) const { return (have_bytes_ >> field & 1) != 0; }
    // 0 for a field that is not set.
    uint64_t number(int field) const { return has_number(field) ? numbers_[field] : 0; }
    bool flag(int field) const { return number(field) != 0; }
    std::optional<Bytes> bytes(int field) const {
        return has_bytes(field) ? std::optional(bytes_[field]) : std::nullopt;
    }

    // All numbers of a repeated field, which writers store packed or one by one.
    std::vector<uint64_t> all_numbers(int field) const;
    // All messages of a repeated field.
    std::vector<Bytes> all_bytes(int field) const;
    // That of the fields which was stored last; 0 for none.
    int last_of(int first, int last) const;

  private:
    Bytes message_;
    uint64_t numbers_[kMost + 1];
    Bytes bytes_[kMost + 1];
    uint32_t positions_[kMost + 1];
    uint32_t have_number_ = 0;
    uint32_t have_bytes_ = 0;
};

}  // namespace lance
