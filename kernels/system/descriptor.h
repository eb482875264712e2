// A plain file that is open for reading. Links are not followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace lance {

#ifdef _WIN32
class Descriptor {
  public:
    explicit Descriptor(const std::string&) {}
    std::optional<int64_t> file_size() const { return std::nullopt; }
};
#else
class Descriptor {
  public:
    // The system would end a path at a NUL.
    explicit Descriptor(const std::string& path)
        : number_(path.find('\0') != std::string::npos
                      ? -1
                      : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    operator int() const { return number_; }

    // Nothing if it could not be opened, or is not a plain file.
    std::optional<int64_t> file_size() const {
        struct stat status;
        if (number_ < 0 || fstat(number_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
        return static_cast<int64_t>(status.st_size);
    }

  private:
    int number_;
};
#endif

}  // namespace lance
