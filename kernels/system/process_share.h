// A resource of which the process has a bounded number, shared by several holders.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace lance {

inline std::atomic<int64_t> num_shared = 0;

// The share of one holder, which is given back with it.
class ProcessShare {
  public:
    ProcessShare() = default;
    ProcessShare(const ProcessShare&) = delete;
    ProcessShare& operator=(const ProcessShare&) = delete;
    ~ProcessShare() { num_shared -= num_taken_; }

    // How many more it may take, if all holders together have at most `most`.
    int64_t take(int64_t number, int64_t most) {
        int64_t taken = num_shared;
        int64_t granted = 0;
        do {
            granted = std::clamp<int64_t>(most - taken, 0, number);
        } while (!num_shared.compare_exchange_weak(taken, taken + granted));
        num_taken_ += granted;
        return granted;
    }

  private:
    std::atomic<int64_t> num_taken_ = 0;
};

}  // namespace lance
