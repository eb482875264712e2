#include "decode_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lance {

namespace {

class DecodeThreads {
  public:
    void limit(int64_t most) {
        const std::lock_guard lock(mutex_);
        most_ = std::max<int64_t>(most, 1);
    }

    void run(std::function<void()> work) {
        {
            const std::lock_guard lock(mutex_);
            if (has_stopped_) return;
            work_.push_back(std::move(work));
            if (num_idle_ < static_cast<int64_t>(work_.size())) add_thread();
            // Whoever waits for the work does it.
            if (threads_.empty()) work_.pop_back();
        }
        has_work_.notify_one();
    }

    void stop() {
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

  private:
    // The lock is held.
    void add_thread() {
        if (static_cast<int64_t>(threads_.size()) >= most_) return;
        try {
            threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {
            // There are as many threads as the system gives.
        }
    }

    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            ++num_idle_;
            has_work_.wait(lock, [this] { return has_stopped_ || !work_.empty(); });
            --num_idle_;
            if (has_stopped_) return;
            {
                // What the work holds is let go of without the lock.
                const std::function<void()> work = std::move(work_.front());
                work_.pop_front();
                lock.unlock();
                work();
            }
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<std::function<void()>> work_;
    std::vector<std::thread> threads_;
    int64_t most_ = 1;
    int64_t num_idle_ = 0;
    bool has_stopped_ = false;
};

// Never destroyed: its threads may outlive everything else.
DecodeThreads* threads = new DecodeThreads;
std::atomic<int64_t> most_threads = 1;
std::atomic<bool> has_stopped = false;
std::atomic<int64_t> num_inside = 0;
std::atomic<uint64_t> number = 0;

}  // namespace

void limit_decode_threads(int64_t most) {
    most_threads = most;
    threads->limit(most);
}

void decode_ahead(std::function<void()> work) { threads->run(std::move(work)); }

void stop_decoding(double most_seconds) {
    has_stopped = true;
    threads->stop();
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(most_seconds);
    while (num_inside > 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool has_decoding_stopped() { return has_stopped; }

void forget_decode_threads() {
    threads = new DecodeThreads;
    threads->limit(most_threads);
    num_inside = 0;
    ++number;
}

uint64_t process_number() { return number; }

InsideStream::InsideStream() { ++num_inside; }

InsideStream::~InsideStream() { --num_inside; }

}  // namespace lance
