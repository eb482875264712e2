// A message is walked over once, and again for its repeated fields.
#include "proto/fields.h"

namespace lance {

Fields::Fields(Bytes message) : message_(message) {
    uint32_t position = 0;
    for (const WireField& field : WireReader(message)) {
        if (field.number > kMost) continue;
        const uint32_t bit = uint32_t{1} << field.number;
        if (field.type == WireType::kVarint) {
            numbers_[field.number] = field.value;
            have_number_ |= bit;
        } else if (field.type == WireType::kBytes) {
            bytes_[field.number] = field.bytes;
            have_bytes_ |= bit;
        } else {
            continue;
        }
        positions_[field.number] = position++;
    }
}

std::vector<uint64_t> Fields::all_numbers(int field) const {
    std::vector<uint64_t> numbers;
    for (const WireField& each : WireReader(message_)) {
        if (each.number != field) continue;
        if (each.type == WireType::kVarint) numbers.push_back(each.value);
        if (each.type != WireType::kBytes) continue;
        WireReader packed(each.bytes);
        while (!packed.done()) numbers.push_back(packed.varint());
    }
    return numbers;
}

std::vector<Bytes> Fields::all_bytes(int field) const {
    std::vector<Bytes> messages;
    for (const WireField& each : WireReader(message_)) {
        if (each.number == field && each.type == WireType::kBytes) messages.push_back(each.bytes);
    }
    return messages;
}

int Fields::last_of(int first, int last) const {
    int found = 0;
    for (int field = first; field <= last; ++field) {
        const bool is_set = has_number(field) || has_bytes(field);
        if (is_set && (found == 0 || positions_[field] > positions_[found])) found = field;
    }
    return found;
}

}  // namespace lance
