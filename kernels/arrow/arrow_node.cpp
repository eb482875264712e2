// The memory of such arrays, and letting go of it.
#include "arrow/arrow_node.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "system/bits.h"

namespace lance {

namespace {

struct OwnedNode {
    HeldArrays children;
    std::vector<ArrowArray*> pointers;
    NodeSlots slots;
    std::array<const void*, 2> buffers{};
};

void release_node(ArrowArray* array) {
    delete static_cast<OwnedNode*>(array->private_data);
    array->release = nullptr;
}

// The NULLs among the first rows of an array.
int64_t num_null(const ArrowArray& array, int64_t num_rows) {
    if (array.n_buffers == 0) return std::min(array.null_count, num_rows);
    const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
    if (array.null_count == 0 || validity == nullptr) return 0;
    int64_t num_valid = 0;
    for (int64_t at = 0; at < num_rows; at += 64) {
        num_valid += count_ones(load_bits(validity, array.offset + at, std::min<int64_t>(64, num_rows - at)));
    }
    return num_rows - num_valid;
}

}  // namespace

ArrowArray around(std::vector<ArrowArray> children, NodeSlots slots) {
    HeldArrays held;
    held.arrays = std::move(children);
    auto owned = std::make_unique<OwnedNode>();
    for (ArrowArray& child : held.arrays) owned->pointers.push_back(&child);
    owned->children.arrays = std::move(held.arrays);
    owned->slots = std::move(slots);
    if (owned->slots.num_null > 0) owned->buffers[0] = owned->slots.validity.data();
    ArrowArray array{};
    array.length = owned->slots.num_slots;
    array.null_count = owned->slots.num_null;
    array.n_buffers = 1;
    if (owned->slots.offsets) {
        owned->buffers[1] = owned->slots.offsets->data();
        array.n_buffers = 2;
    }
    array.buffers = owned->buffers.data();
    array.n_children = static_cast<int64_t>(owned->pointers.size());
    array.children = owned->pointers.data();
    array.release = release_node;
    array.private_data = owned.release();
    return array;
}

ArrowArray nulls(int64_t count) {
    ArrowArray array{};
    array.length = count;
    array.null_count = count;
    array.release = [](ArrowArray* self) { self->release = nullptr; };
    return array;
}

void cut(ArrowArray& batch, int64_t num_rows) {
    if (batch.offset != 0 || batch.null_count != 0) fail("a batch with NULLs, or from row ", batch.offset, " on");
    if (num_rows >= batch.length) return;
    for (int64_t i = 0; i < batch.n_children; ++i) {
        ArrowArray& child = *batch.children[i];
        child.null_count = num_null(child, num_rows);
        child.length = num_rows;
    }
    batch.length = num_rows;
}

NodeParts take_apart(ArrowArray& array) {
    if (array.release != release_node) fail("an array that is not around others");
    const std::unique_ptr<OwnedNode> owned(static_cast<OwnedNode*>(array.private_data));
    array.release = nullptr;
    return {std::move(owned->slots), std::move(owned->children)};
}

}  // namespace lance
