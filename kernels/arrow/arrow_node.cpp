// The memory of such arrays, and letting go of it.
#include "arrow/arrow_node.h"

#include <array>
#include <memory>
#include <utility>

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

NodeParts take_apart(ArrowArray& array) {
    if (array.release != release_node) fail("an array that is not around others");
    const std::unique_ptr<OwnedNode> owned(static_cast<OwnedNode*>(array.private_data));
    array.release = nullptr;
    return {std::move(owned->slots), std::move(owned->children)};
}

}  // namespace lance
