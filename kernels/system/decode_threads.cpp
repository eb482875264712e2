// Number of threads, and their end.
#include "system/decode_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "system/worker_threads.h"

namespace lance {

namespace {

// Never destroyed: its threads may outlive everything else.
WorkerThreads* threads = new WorkerThreads(1);
std::atomic<int64_t> most_threads = 1;
std::atomic<bool> has_stopped = false;
std::atomic<int64_t> num_inside = 0;
std::atomic<uint64_t> number = 0;

}  // namespace

void limit_decode_threads(int64_t most) {
    most_threads = std::max<int64_t>(most, 1);
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
    threads = new WorkerThreads(most_threads);
    num_inside = 0;
    ++number;
}

uint64_t process_number() { return number; }

InsideStream::InsideStream() { ++num_inside; }

InsideStream::~InsideStream() { --num_inside; }

}  // namespace lance
