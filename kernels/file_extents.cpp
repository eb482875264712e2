#include "file_extents.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "decode_threads.h"

namespace lance {

#ifdef _WIN32
std::optional<PooledBuffer> read_extents(const std::string&, Bytes) { return std::nullopt; }

bool FileTail::read(uint8_t*) const { return false; }
#else
namespace {

// False where the file ends before.
bool read_at(int descriptor, int64_t start, int64_t end, uint8_t* to) {
    while (start < end) {
        const ssize_t count = pread(descriptor, to, static_cast<size_t>(end - start), static_cast<off_t>(start));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        to += count;
        start += count;
    }
    return true;
}

// Parts that one thread reads before it looks for more; it takes some thirty microseconds, as long as to wake a thread.
constexpr size_t kPartsAtOnce = 32;
constexpr size_t kMostHelpers = 3;

// The reading of many parts, with other threads where these have nothing else to do.
class SharedReading {
  public:
    SharedReading(int descriptor, Bytes extents, uint8_t* to) : descriptor_(descriptor), extents_(extents) {
        for (size_t i = 0; i < num_parts(); ++i) {
            if (i % kPartsAtOnce == 0) starts_.push_back(to);
            to += end(i) - start(i);
        }
    }

    // By a thread that has come to help, perhaps too late: then nothing of the reading is there any more.
    void help() {
        {
            const std::lock_guard lock(mutex_);
            if (has_ended_) return;
            ++num_helpers_;
        }
        read_rest();
        const std::lock_guard lock(mutex_);
        if (--num_helpers_ == 0) are_gone_.notify_one();
    }

    // By the thread that wants the bytes. False where the file ends before.
    bool finish() {
        read_rest();
        std::unique_lock lock(mutex_);
        has_ended_ = true;
        are_gone_.wait(lock, [this] { return num_helpers_ == 0; });
        return is_whole_;
    }

    size_t num_turns() const { return starts_.size(); }

  private:
    size_t num_parts() const { return extents_.size() / 16; }
    int64_t start(size_t part) const { return load<int64_t>(extents_.data() + 16 * part); }
    int64_t end(size_t part) const { return load<int64_t>(extents_.data() + 16 * part + 8); }

    void read_rest() {
        while (is_whole_) {
            const size_t turn = next_++;
            if (turn >= starts_.size()) return;
            uint8_t* to = starts_[turn];
            const size_t last = std::min(num_parts(), (turn + 1) * kPartsAtOnce);
            for (size_t i = turn * kPartsAtOnce; i < last; ++i) {
                if (!read_at(descriptor_, start(i), end(i), to)) {
                    is_whole_ = false;
                    return;
                }
                to += end(i) - start(i);
            }
        }
    }

    const int descriptor_;
    const Bytes extents_;
    std::vector<uint8_t*> starts_;  // where the bytes of each turn go
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> is_whole_ = true;
    std::mutex mutex_;
    std::condition_variable are_gone_;
    int64_t num_helpers_ = 0;
    bool has_ended_ = false;
};

bool read_all(int descriptor, Bytes extents, uint8_t* to) {
    const auto reading = std::make_shared<SharedReading>(descriptor, extents, to);
    const size_t num_helpers = std::min((reading->num_turns() - 1) / 2, kMostHelpers);
    try {
        for (size_t i = 0; i < num_helpers; ++i) decode_ahead([reading] { reading->help(); });
    } catch (const std::exception&) {
        // Without memory for one more, those that are there have to do.
    }
    return reading->finish();
}

}  // namespace

bool FileTail::read(uint8_t* to) const { return size_ && read_at(descriptor_, *size_ - num_bytes_, *size_, to); }

std::optional<PooledBuffer> read_extents(const std::string& path, Bytes extents) {
    if (extents.size() % 16 != 0) fail("extents of ", extents.size(), " bytes");
    const Descriptor descriptor(path);
    const std::optional<int64_t> size = descriptor.file_size();
    if (!size) return std::nullopt;
    int64_t num_bytes = 0;
    for (size_t i = 0; i < extents.size(); i += 16) {
        const auto start = load<int64_t>(extents.data() + i);
        const auto end = load<int64_t>(extents.data() + i + 8);
        if (start < 0 || end < start || end > *size) return std::nullopt;
        num_bytes += end - start;
        if (num_bytes > kMaxCount) return std::nullopt;
    }
    PooledBuffer found(num_bytes);
    if (!extents.empty() && !read_all(descriptor, extents, found.data())) return std::nullopt;
    return found;
}
#endif

FileTail::FileTail(const std::string& path, int64_t most_bytes) : descriptor_(path), size_(descriptor_.file_size()) {
    if (size_) num_bytes_ = std::min(*size_, most_bytes);
}

}  // namespace lance
