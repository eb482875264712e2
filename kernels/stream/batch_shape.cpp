// Splits and merges chains of arrays.
#include "stream/batch_shape.h"

#include <algorithm>
#include <utility>

#include "system/bits.h"

namespace lance {

namespace {

// A struct is valid if any of its chains is.
NodeSlots merged_slots(std::vector<NodeParts>& parts) {
    NodeSlots slots = std::move(parts[0].slots);
    for (size_t i = 1; i < parts.size(); ++i) {
        const NodeSlots& other = parts[i].slots;
        if (other.num_slots != slots.num_slots)
            fail("members of ", slots.num_slots, " and ", other.num_slots, " values");
        if (other.num_null == 0) slots.num_null = 0;
        if (slots.num_null == 0) continue;
        const int64_t num_bytes = bytes_for_bits(slots.num_slots);
        uint8_t* bits = slots.validity.data();
        for (int64_t at = 0; at < num_bytes; ++at) bits[at] |= other.validity.data()[at];
        int64_t num_valid = 0;
        for (int64_t at = 0; at < slots.num_slots; at += 64) {
            num_valid += count_ones(load_bits(bits, at, std::min<int64_t>(64, slots.num_slots - at)));
        }
        slots.num_null = slots.num_slots - num_valid;
    }
    return slots;
}

bool same_validity(const NodeSlots& slots, const NodeSlots& other) {
    if (slots.num_null != other.num_null) return false;
    for (int64_t at = 0; slots.num_null > 0 && at < slots.num_slots; at += 64) {
        const int64_t count = std::min<int64_t>(64, slots.num_slots - at);
        if (load_bits(slots.validity.data(), at, count) != load_bits(other.validity.data(), at, count)) return false;
    }
    return true;
}

NodeSlots same_lists(std::vector<NodeParts>& parts) {
    NodeSlots& slots = parts[0].slots;
    if (!slots.offsets) fail("a struct where a list was expected");
    for (size_t i = 1; i < parts.size(); ++i) {
        const NodeSlots& other = parts[i].slots;
        const bool same = other.offsets && other.offset_bits == slots.offset_bits &&
                          other.num_slots == slots.num_slots &&
                          std::memcmp(slots.offsets->data(), other.offsets->data(),
                                      static_cast<size_t>((slots.num_slots + 1) * (slots.offset_bits / 8))) == 0;
        if (!same) fail("columns that disagree on the lengths of lists");
        if (!same_validity(slots, other)) fail("columns that disagree on which lists are NULL");
    }
    return std::move(slots);
}

ArrowArray join(const StreamedShape& shape, HeldArrays chains);

// The children of chains that belong to one member.
ArrowArray join_children(const StreamedShape& member, std::vector<NodeParts>& parts, size_t first) {
    HeldArrays inside;
    inside.arrays.reserve(member.num_columns());
    for (size_t i = first; i < first + member.num_columns(); ++i) {
        if (parts[i].children.arrays.size() != 1) fail("a chain of ", parts[i].children.arrays.size(), " children");
        inside.arrays.push_back(std::exchange(parts[i].children.arrays[0], ArrowArray{}));
    }
    return join(member, std::move(inside));
}

void check_entries(const ArrowArray& entries) {
    if (entries.null_count != 0 || entries.n_children < 1 || entries.children[0]->null_count != 0) {
        fail("a map with NULL entries or keys");
    }
}

ArrowArray join(const StreamedShape& shape, HeldArrays chains) {
    if (shape.column) return std::exchange(chains.arrays.at(0), ArrowArray{});
    std::vector<NodeParts> parts;
    parts.reserve(chains.arrays.size());
    for (ArrowArray& chain : chains.arrays) parts.push_back(take_apart(chain));
    HeldArrays members;
    members.arrays.reserve(shape.members.size());
    size_t first = 0;
    for (const StreamedShape& member : shape.members) {
        members.arrays.push_back(join_children(member, parts, first));
        first += member.num_columns();
    }
    NodeSlots slots = shape.kind == ShapeKind::kStruct ? merged_slots(parts) : same_lists(parts);
    if (shape.kind == ShapeKind::kMap) check_entries(members.arrays[0]);
    for (const ArrowArray& member : members.arrays) {
        if (shape.kind == ShapeKind::kStruct && member.length != slots.num_slots) {
            fail("members of ", member.length, " values in ", slots.num_slots);
        }
    }
    return around(std::move(members.arrays), std::move(slots));
}

void count_columns(const std::vector<StreamedShape>& shapes, bool are_members, std::vector<int>& counts) {
    for (const StreamedShape& shape : shapes) {
        if (shape.are_nulls()) {
            if (are_members) fail("members without a column");
        } else if (!shape.column) {
            if (shape.members.empty() || (shape.kind != ShapeKind::kStruct && shape.members.size() != 1)) {
                fail("a column of ", shape.members.size(), " members");
            }
            count_columns(shape.members, true, counts);
        } else if (*shape.column >= counts.size()) {
            fail("no column ", *shape.column, " among ", counts.size());
        } else {
            ++counts[*shape.column];
        }
    }
}

void collect(const StreamedShape& shape, std::vector<ArrowArray>& read, HeldArrays& chains) {
    if (shape.column) chains.arrays.push_back(std::exchange(read[*shape.column], ArrowArray{}));
    for (const StreamedShape& member : shape.members) collect(member, read, chains);
}

}  // namespace

size_t StreamedShape::num_columns() const {
    if (column) return 1;
    size_t count = 0;
    for (const StreamedShape& member : members) count += member.num_columns();
    return count;
}

void check_shapes(const std::vector<StreamedShape>& shapes, size_t num_columns) {
    std::vector<int> counts(num_columns);
    count_columns(shapes, false, counts);
    for (const int count : counts) {
        if (count != 1) fail("a column that is in ", count, " places of a batch");
    }
}

ArrowArray assemble(const StreamedShape& shape, std::vector<ArrowArray>& read) {
    HeldArrays chains;
    chains.arrays.reserve(shape.num_columns());
    collect(shape, read, chains);
    return join(shape, std::move(chains));
}

}  // namespace lance
