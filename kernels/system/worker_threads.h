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

    // How many there are at most; those that run already stay.
    void limit(int64_t most);

    // Runs work on one of them, some time; work throws nothing. False where there is no thread and none can be started,
    // or all were stopped: the work is not run then.
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
