// Fields are stepped over one by one.
#include "proto/wire.h"

namespace lance {

namespace {

constexpr int kMaxVarintBytes = 10;
constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

}  // namespace

WireField WireReader::next() {
    const uint64_t tag = varint();
    WireField field;
    if (tag >> 3 == 0 || tag >> 3 > kMaxFieldNumber) fail("a message has a field with the number ", tag >> 3);
    field.number = static_cast<int64_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    switch (field.type) {
        case WireType::kVarint: field.value = varint(); return field;
        case WireType::kFixed64: field.value = load<uint64_t>(take(8).data()); return field;
        case WireType::kFixed32: field.value = load<uint32_t>(take(4).data()); return field;
        case WireType::kBytes: field.bytes = take(varint()); return field;
    }
    // groups, which nothing of the format has ever used
    fail("field ", field.number, " of a message has the wire type ", tag & 7);
}

uint64_t WireReader::long_varint() {
    uint64_t value = 0;
    for (int i = 0; i < kMaxVarintBytes; ++i) {
        if (at_ == message_.size()) fail("a message ends inside a number");
        const uint8_t byte = message_[at_++];
        if (i == kMaxVarintBytes - 1 && byte > 1) break;
        value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
        if (byte < 0x80) return value;
    }
    fail("a message has a number of more than 64 bits");
}

Bytes WireReader::take(uint64_t num_bytes) {
    if (num_bytes > message_.size() - at_) {
        fail("a field of ", num_bytes, " bytes, of which the message has ", message_.size() - at_);
    }
    const Bytes taken = message_.subspan(at_, static_cast<size_t>(num_bytes));
    at_ += static_cast<size_t>(num_bytes);
    return taken;
}

}  // namespace lance
