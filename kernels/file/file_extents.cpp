// Decides which parts are read together, and by which threads.
#include "file/file_extents.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "system/shared_work.h"

namespace lance {

#ifdef _WIN32
std::optional<PooledBuffer> read_extents(const std::string&, Bytes) { return std::nullopt; }

bool FileTail::read(uint8_t*) const { return false; }
#else
namespace {

// False if the file ends before.
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

// Reads the extents one after the other; false if the file ends earlier.
bool read_all(int descriptor, Bytes extents, uint8_t* to) {
    const size_t num_parts = extents.size() / 16;
    const auto start = [extents](size_t part) { return load<int64_t>(extents.data() + 16 * part); };
    const auto end = [extents](size_t part) { return load<int64_t>(extents.data() + 16 * part + 8); };
    // destination of the bytes of each turn
    std::vector<uint8_t*> starts;
    for (size_t i = 0; i < num_parts; ++i) {
        if (i % kPartsAtOnce == 0) starts.push_back(to);
        to += end(i) - start(i);
    }
    return share_work(starts.size(), std::min((starts.size() - 1) / 2, kMostHelpers), [&](size_t turn, size_t) {
        uint8_t* at = starts[turn];
        const size_t last = std::min(num_parts, (turn + 1) * kPartsAtOnce);
        for (size_t i = turn * kPartsAtOnce; i < last; ++i) {
            if (!read_at(descriptor, start(i), end(i), at)) return false;
            at += end(i) - start(i);
        }
        return true;
    });
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
    PooledBuffer buffer(num_bytes);
    if (!extents.empty() && !read_all(descriptor, extents, buffer.data())) return std::nullopt;
    return buffer;
}
#endif

FileTail::FileTail(const std::string& path, int64_t most_bytes) : descriptor_(path), size_(descriptor_.file_size()) {
    if (size_) num_bytes_ = std::min(*size_, most_bytes);
}

}  // namespace lance
