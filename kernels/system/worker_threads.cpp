// Threads begin when there is work for them, and stay until they are stopped.
#include "system/worker_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace lance {

void WorkerThreads::limit(int64_t most) {
    const std::lock_guard lock(mutex_);
    most_ = std::max<int64_t>(most, 1);
}

bool WorkerThreads::run(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        if (has_stopped_) return false;
        work_.push_back(std::move(work));
        if (num_idle_ < static_cast<int64_t>(work_.size())) add_thread();
        if (threads_.empty()) {
            work_.pop_back();
            return false;
        }
    }
    has_work_.notify_one();
    return true;
}

void WorkerThreads::stop() {
    std::vector<std::thread> threads;
    std::deque<std::function<void()>> dropped;
    {
        const std::lock_guard lock(mutex_);
        has_stopped_ = true;
        std::swap(dropped, work_);
        threads = std::exchange(threads_, {});
    }
    has_work_.notify_all();
    for (std::thread& thread : threads) thread.join();
}

// The lock is held.
void WorkerThreads::add_thread() {
    if (static_cast<int64_t>(threads_.size()) >= most_) return;
    try {
        threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
        // There are as many threads as the system gives.
    }
}

void WorkerThreads::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++num_idle_;
        has_work_.wait(lock, [this] { return has_stopped_ || !work_.empty(); });
        --num_idle_;
        if (has_stopped_) return;
        {
            // Objects of the work are released without the lock.
            const std::function<void()> work = std::move(work_.front());
            work_.pop_front();
            lock.unlock();
            work();
        }
        lock.lock();
    }
}

}  // namespace lance
