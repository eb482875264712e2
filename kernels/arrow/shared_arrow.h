// A schema or an array that was exported once, and copies of it that share its memory.
#pragma once

#include <memory>

#include "arrow/arrow_abi.h"

namespace lance {

// Node: ArrowSchema or ArrowArray
template <class Node>
class SharedNode {
  public:
    // Takes ownership of an exported array.
    explicit SharedNode(Node& exported);

    const Node& node() const { return *node_; }
    // A copy that keeps the memory alive until it is released; thread-safe.
    void copy(Node& out) const;

  private:
    std::shared_ptr<const Node> node_;
};

using SharedSchema = SharedNode<ArrowSchema>;
using SharedArray = SharedNode<ArrowArray>;

extern template class SharedNode<ArrowSchema>;
extern template class SharedNode<ArrowArray>;

}  // namespace lance
