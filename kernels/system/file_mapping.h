// The bytes of a whole file as memory, for as long as they are looked at. The mapping needs no descriptor, of which a
// process may have a thousand only.
#pragma once

#include <cstdint>

namespace lance {

class FileMapping {
  public:
    // descriptor: of a file that is open for reading, and not needed afterwards
    // num_bytes: all of them, more than 0
    // Throws std::system_error, and InvalidData where the file has fewer bytes.
    FileMapping(int descriptor, int64_t num_bytes);
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    ~FileMapping();

    const uint8_t* data() const { return data_; }
    int64_t num_bytes() const { return num_bytes_; }

    // Takes what was looked at out of the memory of the process; it is read again when it is looked at again.
    void give_back() const;

  private:
    uint8_t* data_ = nullptr;
    int64_t num_bytes_;
};

}  // namespace lance
