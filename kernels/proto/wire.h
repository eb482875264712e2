// Walking over protobuf messages without building them: fields one after the other, every length checked.
#pragma once

#include <cstddef>

#include "system/bytes.h"

namespace lance {

enum class WireType : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message. `value` holds a number, `bytes` what has a length.
struct WireField {
    int64_t number = 0;
    WireType type = WireType::kVarint;
    uint64_t value = 0;
    Bytes bytes;
};

// Reads the fields of a message in the order in which they are stored:
//
//     for (const WireField& field : WireReader(message))
class WireReader {
  public:
    explicit WireReader(Bytes message) : message_(message) {}

    bool done() const { return at_ == message_.size(); }

    // Start of the next field.
    int64_t position() const { return static_cast<int64_t>(at_); }

    WireField next();

    // The next number of a packed field, whose numbers have no tags.
    uint64_t varint() {
        // most tags, lengths and small numbers
        if (at_ < message_.size() && message_[at_] < 0x80) return message_[at_++];
        return long_varint();
    }

    // Takes the next field when it is read.
    struct Next {
        WireReader& reader;
        bool operator!=(std::nullptr_t) const { return !reader.done(); }
        WireField operator*() const { return reader.next(); }
        void operator++() const {}
    };
    Next begin() { return {*this}; }
    std::nullptr_t end() const { return nullptr; }

  private:
    uint64_t long_varint();

    Bytes take(uint64_t num_bytes);

    Bytes message_;
    size_t at_ = 0;
};

}  // namespace lance
