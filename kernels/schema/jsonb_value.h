// Stored JSON as lists and objects of entries; see format/schema/jsonb.py for the bytes.
#pragma once

#include <optional>

#include "system/bytes.h"

namespace lance {

namespace JsonKind {
constexpr uint32_t kScalar = 1, kObject = 2, kArray = 4;
}

namespace JsonType {
constexpr uint32_t kNull = 0, kString = 1, kNumber = 2, kFalse = 3, kTrue = 4, kNested = 5;
}

constexpr int kMostJsonLevels = 200;

// JSON that is valid, but of a kind that the kernels do not read.
struct UnsupportedJson : InvalidData {
    using InvalidData::InvalidData;
};

// A scalar and its bytes, or a list or object.
struct JsonEntry {
    uint32_t type;
    Bytes payload;
};

// The entries of a list or object, one after the other.
class JsonEntries {
  public:
    // from: the first entry; start: of its payload
    JsonEntries(Bytes value, int64_t from, int64_t start) : value_(value), number_(from), start_(start) {}

    // Throws if its payload is outside of the value.
    JsonEntry next() {
        const uint32_t word = word_at(number_++);
        const int64_t end = start_ + (word & 0x0FFFFFFF);
        if (end > size_of(value_)) fail("a JSON entry ends at byte ", end, " of ", value_.size());
        const Bytes payload = value_.subspan(static_cast<size_t>(start_), static_cast<size_t>(end - start_));
        start_ = end;
        return {word >> 28 & 7, payload};
    }

    // Where the payload of the next entry begins.
    int64_t start() const { return start_; }

  private:
    uint32_t word_at(int64_t number) const { return __builtin_bswap32(load<uint32_t>(value_.data() + 4 + 4 * number)); }

    Bytes value_;
    int64_t number_;
    int64_t start_;
};

// A value: one scalar, a list, or an object.
class JsonContainer {
  public:
    // Throws unless the value has room for its entries.
    explicit JsonContainer(Bytes value);

    uint32_t kind() const { return kind_; }
    // The values of a list, the members of an object; 1 for a scalar.
    int64_t count() const { return count_; }
    // All entries from the first one on: of an object the keys, then the values.
    JsonEntries entries() const { return {value_, 0, first_payload_}; }
    // The values of an object.
    JsonEntries values() const;

  private:
    Bytes value_;
    uint32_t kind_;
    int64_t count_;
    int64_t first_payload_;
};

// What a stored document is: its only scalar, or itself as a list or object.
JsonEntry json_root(Bytes document);

// A number in one of the three forms in which it is stored.
struct JsonNumber {
    enum Form { kSigned, kUnsigned, kDouble } form;
    int64_t integer;  // if it is signed
    uint64_t natural;
    double floating;

    double to_double() const;
};
JsonNumber json_number(Bytes payload);

}  // namespace lance
