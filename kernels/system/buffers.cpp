// The recycled buffers, and their bytes.
#include "system/buffers.h"

#include <bit>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <sys/mman.h>
#endif

namespace lance {

namespace {

constexpr int64_t kAlignment = 64;
// Buffers from this size on are allocated from the system directly; smaller ones are not recycled.
constexpr int64_t kLargeBytes = 64 * 1024;
constexpr int64_t kMostBytes = int64_t{1} << 40;

// Four sizes for each power of two, so that buffers of similar batches serve each other.
int64_t capacity_for(int64_t num_bytes) {
    if (num_bytes > kMostBytes) throw std::bad_alloc();
    int64_t step = kAlignment;
    if (num_bytes >= kLargeBytes) step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(num_bytes - 1)) - 3);
    return (num_bytes + step - 1) / step * step;
}

uint8_t* allocate(int64_t capacity) {
    const auto size = static_cast<size_t>(capacity);
#ifndef _WIN32
    if (capacity >= kLargeBytes) {
        void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return static_cast<uint8_t*>(memory);
    }
#endif
    return static_cast<uint8_t*>(::operator new(size, std::align_val_t{kAlignment}));
}

void give_back(uint8_t* data, int64_t capacity) noexcept {
#ifndef _WIN32
    if (capacity >= kLargeBytes) {
        munmap(data, static_cast<size_t>(capacity));
        return;
    }
#endif
    ::operator delete(data, std::align_val_t{kAlignment});
}

class BufferPool {
  public:
    uint8_t* take(int64_t capacity) {
        {
            const std::lock_guard lock(mutex_);
            num_taken_ += capacity;
            const auto entry = free_.find(capacity);
            if (entry != free_.end() && !entry->second.empty()) {
                uint8_t* data = entry->second.back();
                entry->second.pop_back();
                num_kept_ -= capacity;
                return data;
            }
        }
        try {
            return allocate(capacity);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            num_taken_ -= capacity;
            throw;
        }
    }

    void put(uint8_t* data, int64_t capacity) noexcept {
        std::unordered_map<int64_t, std::vector<uint8_t*>> dropped;
        {
            const std::lock_guard lock(mutex_);
            num_taken_ -= capacity;
            // Buffers of sizes that nobody wants any more make room for those that are wanted now.
            if (num_kept_ + capacity > most_ && capacity <= most_) clear(dropped);
            if (num_kept_ + capacity <= most_ && keep(data, capacity)) data = nullptr;
        }
        if (data != nullptr) give_back(data, capacity);
        free(dropped);
    }

    void limit(int64_t most_bytes) {
        std::unordered_map<int64_t, std::vector<uint8_t*>> dropped;
        {
            const std::lock_guard lock(mutex_);
            most_ = most_bytes;
            if (num_kept_ > most_) clear(dropped);
        }
        free(dropped);
    }

    KeptBuffers counts() const {
        const std::lock_guard lock(mutex_);
        return {num_kept_, num_taken_};
    }

  private:
    bool keep(uint8_t* data, int64_t capacity) noexcept {
        try {
            free_[capacity].push_back(data);
        } catch (const std::bad_alloc&) {
            return false;
        }
        num_kept_ += capacity;
        return true;
    }

    void clear(std::unordered_map<int64_t, std::vector<uint8_t*>>& dropped) noexcept {
        std::swap(free_, dropped);
        num_kept_ = 0;
    }

    static void free(const std::unordered_map<int64_t, std::vector<uint8_t*>>& dropped) noexcept {
        for (const auto& [capacity, buffers] : dropped) {
            for (uint8_t* data : buffers) give_back(data, capacity);
        }
    }

    mutable std::mutex mutex_;
    std::unordered_map<int64_t, std::vector<uint8_t*>> free_;
    int64_t num_kept_ = 0;
    int64_t num_taken_ = 0;
    int64_t most_ = 0;
};

// Never destroyed: arrays may be released after everything else.
BufferPool* pool = new BufferPool;

}  // namespace

PooledBuffer::PooledBuffer(int64_t num_bytes) {
    if (num_bytes <= 0) num_bytes = 1;
    const int64_t capacity = capacity_for(num_bytes);
    data_ = capacity >= kLargeBytes ? pool->take(capacity) : allocate(capacity);
    capacity_ = capacity;
}

PooledBuffer::PooledBuffer(PooledBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
}

PooledBuffer::~PooledBuffer() {
    if (data_ == nullptr) return;
    if (capacity_ >= kLargeBytes) {
        pool->put(data_, capacity_);
    } else {
        give_back(data_, capacity_);
    }
}

void PooledBuffer::grow(int64_t num_bytes, int64_t num_used) {
    if (num_bytes <= capacity_) return;
    PooledBuffer larger(num_bytes);
    copy(larger.data(), data_, num_used);
    *this = std::move(larger);
}

void PooledBuffer::shrink(int64_t num_used) {
    if (data_ == nullptr || capacity_for(std::max<int64_t>(num_used, 1)) > capacity_ / 2) return;
    PooledBuffer smaller(num_used);
    copy(smaller.data(), data_, num_used);
    *this = std::move(smaller);
}

void keep_buffers(int64_t most_bytes) { pool->limit(most_bytes); }

KeptBuffers kept_buffers() { return pool->counts(); }

void forget_buffers() { pool = new BufferPool; }

}  // namespace lance
