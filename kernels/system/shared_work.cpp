// Helpers take turns until none is left; a late one finds nothing to do.
#include "system/shared_work.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "system/decode_threads.h"

namespace lance {

namespace {

class SharedWork {
  public:
    SharedWork(size_t num_turns, Turn turn) : num_turns_(num_turns), turn_(std::move(turn)) {}

    // By a thread that has come to help, perhaps too late: then nothing that turns need is there any more.
    void help() {
        size_t worker;
        {
            const std::lock_guard lock(mutex_);
            if (has_ended_) return;
            ++num_helpers_;
            worker = ++last_worker_;
        }
        do_rest(worker);
        const std::lock_guard lock(mutex_);
        if (--num_helpers_ == 0) are_gone_.notify_one();
    }

    // By the thread whose work it is.
    bool finish() {
        do_rest(0);
        std::unique_lock lock(mutex_);
        has_ended_ = true;
        are_gone_.wait(lock, [this] { return num_helpers_ == 0; });
        if (error_) std::rethrow_exception(error_);
        return goes_on_;
    }

  private:
    void do_rest(size_t worker) {
        try {
            while (goes_on_) {
                const size_t turn = next_++;
                if (turn >= num_turns_) return;
                if (!turn_(turn, worker)) goes_on_ = false;
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
            goes_on_ = false;
        }
    }

    const size_t num_turns_;
    const Turn turn_;
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> goes_on_ = true;
    std::mutex mutex_;
    std::condition_variable are_gone_;
    size_t last_worker_ = 0;
    int64_t num_helpers_ = 0;
    bool has_ended_ = false;
    std::exception_ptr error_;
};

}  // namespace

bool share_work(size_t num_turns, size_t num_helpers, Turn turn) {
    const auto work = std::make_shared<SharedWork>(num_turns, std::move(turn));
    try {
        for (size_t i = 0; i < num_helpers; ++i) decode_ahead([work] { work->help(); });
    } catch (const std::exception&) {
        // Without memory for one more, those that are there have to do.
    }
    return work->finish();
}

}  // namespace lance
