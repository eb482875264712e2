// The last copy releases the exported array.
#include "arrow/shared_arrow.h"

#include <utility>
#include <vector>

namespace lance {

namespace {

template <class Node>
void release_if_held(Node& node) {
    if (node.release != nullptr) node.release(&node);
}

// Private data of a copy: its child nodes, which may be moved out, and a share of the memory.
template <class Node>
struct CopiedNode {
    CopiedNode(std::shared_ptr<const Node> owner, size_t num_children)
        : owner(std::move(owner)), children(num_children) {
        for (Node& child : children) pointers.push_back(&child);
    }
    CopiedNode(const CopiedNode&) = delete;
    CopiedNode& operator=(const CopiedNode&) = delete;
    ~CopiedNode() {
        for (Node& child : children) release_if_held(child);
        release_if_held(dictionary);
    }

    std::shared_ptr<const Node> owner;
    std::vector<Node> children;
    std::vector<Node*> pointers;
    Node dictionary{};
};

template <class Node>
void release_copy(Node* node) {
    delete static_cast<CopiedNode<Node>*>(node->private_data);
    node->release = nullptr;
}

template <class Node>
void copy_node(const std::shared_ptr<const Node>& owner, const Node& from, Node& to) {
    auto copied = std::make_unique<CopiedNode<Node>>(owner, static_cast<size_t>(from.n_children));
    for (size_t i = 0; i < copied->children.size(); ++i) copy_node(owner, *from.children[i], copied->children[i]);
    if (from.dictionary != nullptr) copy_node(owner, *from.dictionary, copied->dictionary);
    to = from;
    to.children = copied->pointers.data();
    to.dictionary = from.dictionary != nullptr ? &copied->dictionary : nullptr;
    to.release = release_copy<Node>;
    to.private_data = copied.release();
}

}  // namespace

template <class Node>
SharedNode<Node>::SharedNode(Node& exported) {
    auto held = std::unique_ptr<Node, void (*)(Node*)>(new Node(exported), [](Node* node) {
        release_if_held(*node);
        delete node;
    });
    exported.release = nullptr;
    node_ = std::move(held);
}

template <class Node>
void SharedNode<Node>::copy(Node& out) const {
    copy_node(node_, *node_, out);
}

template class SharedNode<ArrowSchema>;
template class SharedNode<ArrowArray>;

}  // namespace lance
