// Headers and numbers of stored JSON.
#include "schema/jsonb_value.h"

#include <bit>
#include <limits>
#include <sstream>

namespace lance {

namespace {

uint64_t big_endian(Bytes digits) {
    uint64_t value = 0;
    for (const uint8_t digit : digits) value = value << 8 | digit;
    return value;
}

[[noreturn]] void refuse_number(uint8_t tag, size_t num_bytes) {
    std::ostringstream text;
    text << "a JSON number of kind 0x" << std::hex << (tag < 16 ? "0" : "") << int{tag} << std::dec << " with "
         << num_bytes << " bytes";
    throw UnsupportedJson(text.str());
}

}  // namespace

JsonContainer::JsonContainer(Bytes value) : value_(value) {
    if (value.size() < 4) fail("a JSON value of ", value.size(), " bytes has no header");
    const uint32_t header = __builtin_bswap32(load<uint32_t>(value.data()));
    kind_ = header >> 29;
    count_ = kind_ == JsonKind::kScalar ? 1 : header & 0x1FFFFFFF;
    if (kind_ != JsonKind::kScalar && kind_ != JsonKind::kObject && kind_ != JsonKind::kArray) {
        fail("a JSON value of the unknown kind ", kind_);
    }
    const int64_t num_entries = kind_ == JsonKind::kObject ? 2 * count_ : count_;
    first_payload_ = 4 + 4 * num_entries;
    if (first_payload_ > size_of(value)) {
        fail("a JSON value of ", value.size(), " bytes cannot have ", num_entries, " entries");
    }
}

JsonEntries JsonContainer::values() const {
    JsonEntries keys = entries();
    for (int64_t i = 0; i < count_; ++i) keys.next();
    return {value_, count_, keys.start()};
}

JsonEntry json_root(Bytes document) {
    const JsonContainer container(document);
    if (container.kind() == JsonKind::kScalar) return container.entries().next();
    return {JsonType::kNested, document};
}

double JsonNumber::to_double() const {
    switch (form) {
        case kSigned: return static_cast<double>(integer);
        case kUnsigned: return static_cast<double>(natural);
        default: return floating;
    }
}

JsonNumber json_number(Bytes payload) {
    if (payload.empty()) fail("a JSON number of no bytes");
    const uint8_t tag = payload[0];
    const Bytes digits = payload.subspan(1);
    const size_t size = digits.size();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (tag == 0x00 && size == 0) return {JsonNumber::kUnsigned, 0, 0, 0};
    if (tag == 0x20 && size == 0) return {JsonNumber::kDouble, 0, 0, kInfinity};
    if (tag == 0x30 && size == 0) return {JsonNumber::kDouble, 0, 0, -kInfinity};
    if (tag == 0x60 && size == 8) return {JsonNumber::kDouble, 0, 0, std::bit_cast<double>(big_endian(digits))};
    const bool is_integer = tag == 0x40 || tag == 0x50;
    if (!is_integer || (size != 1 && size != 2 && size != 4 && size != 8)) refuse_number(tag, size);
    const uint64_t bits = big_endian(digits);
    if (tag == 0x50) return {JsonNumber::kUnsigned, 0, bits, 0};
    const int unused = static_cast<int>(64 - 8 * size);
    return {JsonNumber::kSigned, static_cast<int64_t>(bits << unused) >> unused, 0, 0};
}

}  // namespace lance
