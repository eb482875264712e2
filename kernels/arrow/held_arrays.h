// Arrow arrays that nobody has taken over yet.
#pragma once

#include <utility>
#include <vector>

#include "arrow/arrow_abi.h"

namespace lance {

// Arrays that are released with it, unless they are taken.
class HeldArrays {
  public:
    HeldArrays() = default;
    explicit HeldArrays(size_t count) : arrays(count) {}
    HeldArrays(HeldArrays&& other) noexcept : arrays(std::exchange(other.arrays, {})) {}
    HeldArrays& operator=(HeldArrays&&) = delete;
    ~HeldArrays() {
        for (ArrowArray& array : arrays) {
            if (array.release != nullptr) array.release(&array);
        }
    }

    std::vector<ArrowArray> arrays;
};

}  // namespace lance
