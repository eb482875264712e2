// A bounded number of threads that do what they are given, in the order in which it came.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lance {

class WorkerThreads {
  public:
    explicit WorkerThreads(int64_t most) : most_(most) {}

    // Maximum number of threads; running ones stay.
    void limit(int64_t most);

    // Runs work on one of them later; work throws nothing. Returns false without running it if no thread can be
    // started, or all were stopped.
    bool run(std::function<void()> work);

    // Returns when no thread is at work; nothing is run any more.
    void stop();

  private:
    void add_thread();
    void serve();

    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<std::function<void()>> work_;
    std::vector<std::thread> threads_;
    int64_t most_;
    int64_t num_idle_ = 0;
    bool has_stopped_ = false;
};

}  // namespace lance
