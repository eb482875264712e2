// The bytes of a whole file as mapped memory. The mapping needs no descriptor, of which a process may have only a
// thousand.
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

    // Removes read pages from the memory of the process; the next access reads them again.
    void give_back() const;

  private:
    uint8_t* data_ = nullptr;
    int64_t num_bytes_;
};

}  // namespace lance
