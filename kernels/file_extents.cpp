#include "file_extents.h"

#include <cerrno>

#include "descriptor.h"

namespace lance {

#ifdef _WIN32
std::optional<FileBytes> read_extents(const std::string&, Bytes) { return std::nullopt; }
#else
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
        auto at = load<int64_t>(extents.data() + i);
        const auto end = load<int64_t>(extents.data() + i + 8);
        while (at < end) {
            const ssize_t count = pread(descriptor, to, static_cast<size_t>(end - at), static_cast<off_t>(at));
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return std::nullopt;
            to += count;
            at += count;
        }
    }
    return found;
}
#endif

}  // namespace lance
