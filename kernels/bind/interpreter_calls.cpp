// The threads that make the calls, and how long is waited for them.
#include "bind/interpreter_calls.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bind/python.h"
#include "system/worker_threads.h"

namespace lance {

namespace {

using Seconds = std::chrono::duration<double>;

// Calls may wait for files, and one may wait for the lock.
constexpr int64_t kMostThreads = 16;

// How long a release waits until the other thread has returned files and memory. If a lock that the other thread needs
// is held, the release stops waiting, earlier if that is likely.
constexpr Seconds kMostSettling(1.0);
constexpr Seconds kMostSettlingWithoutLock(0.05);

// Never destroyed: its threads may outlive everything else.
WorkerThreads* threads = new WorkerThreads(kMostThreads);
std::atomic<double> most_waiting = 0;

class Done {
  public:
    void set() {
        {
            const std::lock_guard lock(mutex_);
            is_set_ = true;
        }
        changed_.notify_all();
    }

    bool wait(Seconds most) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, most, [this] { return is_set_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_set_ = false;
};

struct Call {
    std::function<void()> call;
    std::exception_ptr error;
    Done done;
};

// Whether somebody gets the lock within some time.
bool is_free(Seconds most) {
    auto asked = std::make_shared<Done>();
    const bool is_asked = threads->run([asked] {
        const Locked locked;
        asked->set();
    });
    return !is_asked || asked->wait(most);
}

void call_here(const std::function<void()>& call) {
    const Locked locked;
    call();
}

}  // namespace

void limit_wait_for_interpreter(double seconds) { most_waiting = seconds; }

bool is_wait_limited() { return most_waiting > 0; }

void call_interpreter(std::function<void()> call) {
    const Seconds most(most_waiting);
    if (most.count() <= 0 || PyGILState_Check()) return call_here(call);
    auto own = std::make_shared<Call>();
    own->call.swap(call);  // a function that was moved from may still hold its objects
    const bool is_running = threads->run([own] {
        const Locked locked;
        try {
            own->call();
        } catch (...) {
            own->error = std::current_exception();
        }
        own->call = nullptr;
        own->done.set();
    });
    if (!is_running) return call_here(own->call);
    // The call itself may take long, for a file for example.
    while (!own->done.wait(most / 2)) {
        if (!is_free(most / 2)) {
            throw std::runtime_error(
                "another thread holds Python's lock, and waits for this one: end a result that is not read to its end "
                "with "
                "close(), before its connection is let go of");
        }
    }
    if (own->error) std::rethrow_exception(std::exchange(own->error, nullptr));
}

void let_go(std::function<void()> drop) {
    auto done = std::make_shared<Done>();
    auto own = std::make_shared<std::function<void()>>();
    own->swap(drop);  // a function that was moved from may still hold its objects, and would release them here
    const bool is_running = threads->run([done, own] {
        {
            const Locked locked;
            (*own)();
            *own = nullptr;
        }
        done->set();
    });
    if (!is_running) {
        const Locked locked;
        (*own)();
        *own = nullptr;
        return;
    }
    const bool has_lock = PyGILState_Check() != 0;
    std::optional<Unlocked> unlocked;
    if (has_lock) unlocked.emplace();
    done->wait(!has_lock && is_wait_limited() ? kMostSettlingWithoutLock : kMostSettling);
}

void stop_interpreter_calls() { threads->stop(); }

void forget_interpreter_calls() { threads = new WorkerThreads(kMostThreads); }

}  // namespace lance
