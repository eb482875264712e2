#include "file_extents.h"

#include <algorithm>
#include <cerrno>

namespace lance {

#ifdef _WIN32
std::optional<FileBytes> read_extents(const std::string&, Bytes) { return std::nullopt; }

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

}  // namespace

bool FileTail::read(uint8_t* to) const { return size_ && read_at(descriptor_, *size_ - num_bytes_, *size_, to); }

std::optional<FileBytes> read_extents(const std::string& path, Bytes extents) {
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
    FileBytes found{PooledBuffer(num_bytes), num_bytes};
    uint8_t* to = found.buffer.data();
    for (size_t i = 0; i < extents.size(); i += 16) {
        const auto start = load<int64_t>(extents.data() + i);
        const auto end = load<int64_t>(extents.data() + i + 8);
        if (!read_at(descriptor, start, end, to)) return std::nullopt;
        to += end - start;
    }
    return found;
}
#endif

FileTail::FileTail(const std::string& path, int64_t most_bytes) : descriptor_(path), size_(descriptor_.file_size()) {
    if (size_) num_bytes_ = std::min(*size_, most_bytes);
}

}  // namespace lance
