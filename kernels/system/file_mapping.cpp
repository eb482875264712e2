// Mappings of files, by what each system has for them.
#include "system/file_mapping.h"

#include <cerrno>
#include <system_error>

#include "system/bytes.h"

#ifdef _WIN32
#define NOMINMAX
#include <io.h>
#include <windows.h>
#else
#include <sys/mman.h>
#include <sys/stat.h>
#endif

namespace lance {

#ifdef _WIN32

FileMapping::FileMapping(int descriptor, int64_t num_bytes) : num_bytes_(num_bytes) {
    const auto file = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
    const auto size = static_cast<uint64_t>(num_bytes);
    HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, static_cast<DWORD>(size >> 32),
                                        static_cast<DWORD>(size), nullptr);
    if (mapping == nullptr) throw std::system_error(EINVAL, std::generic_category());
    data_ = static_cast<uint8_t*>(MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, static_cast<SIZE_T>(size)));
    // the view stays
    CloseHandle(mapping);
    if (data_ == nullptr) throw std::system_error(ENOMEM, std::generic_category());
}

FileMapping::~FileMapping() { UnmapViewOfFile(data_); }

void FileMapping::give_back() const {}

#else

FileMapping::FileMapping(int descriptor, int64_t num_bytes) : num_bytes_(num_bytes) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) throw std::system_error(errno, std::generic_category());
    // bytes past the end of a file can be mapped, and reading them ends the process
    if (num_bytes < 1 || status.st_size < num_bytes) fail("the file has ", status.st_size, " bytes, not ", num_bytes);
    void* memory = mmap(nullptr, static_cast<size_t>(num_bytes), PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    data_ = static_cast<uint8_t*>(memory);
}

FileMapping::~FileMapping() { munmap(data_, static_cast<size_t>(num_bytes_)); }

void FileMapping::give_back() const { madvise(data_, static_cast<size_t>(num_bytes_), MADV_DONTNEED); }

#endif

}  // namespace lance
