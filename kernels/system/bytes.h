// Views of memory, unaligned loads and stores, and the one way to refuse input.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace lance {

using Bytes = std::span<const uint8_t>;
using MutableBytes = std::span<uint8_t>;

// Every count, position and size that comes from Python is within 0..kMaxCount (see Count in python.h), so sums of a
// few of them, and products with a bit width of a value, fit into int64_t.
inline constexpr int64_t kMaxCount = int64_t{1} << 48;

// Bytes, counts or positions that contradict each other: a damaged file. In Python a separate ValueError, so that
// mistakes in calling code are not taken for damage.
class InvalidData : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    throw InvalidData(text.str());
}

// Buffers come from files and may start at any address: memory is read and written through memcpy, which
// compiles to a plain (vector) load or store.
template <class T>
inline T load(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T>
inline void store(uint8_t* at, T value) {
    std::memcpy(at, &value, sizeof(T));
}

// memcpy that permits a null pointer with a size of 0.
inline void copy(uint8_t* to, const uint8_t* from, int64_t num_bytes) {
    if (num_bytes > 0) std::memcpy(to, from, static_cast<size_t>(num_bytes));
}

// Prefetches memory that is read soon, if the processor supports it.
inline void prefetch([[maybe_unused]] const uint8_t* at) {
#if defined(__GNUC__)
    __builtin_prefetch(at);
#endif
}

inline int64_t size_of(Bytes bytes) { return static_cast<int64_t>(bytes.size()); }
inline int64_t size_of(MutableBytes bytes) { return static_cast<int64_t>(bytes.size()); }

inline Bytes as_bytes(const std::vector<int64_t>& numbers) {
    return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(int64_t)};
}

// num_values * num_units, refused when it cannot be the size of anything.
inline int64_t multiply(int64_t num_values, int64_t num_units) {
    if (num_units != 0 && num_values > kMaxCount * 64 / num_units) {
        fail(num_values, " values of ", num_units, " units are too many");
    }
    return num_values * num_units;
}

inline int64_t bytes_for_bits(int64_t num_bits) { return (num_bits + 7) / 8; }

inline void require_output(MutableBytes out, int64_t num_bytes, const char* name = "out") {
    if (size_of(out) < num_bytes) {
        fail(name, " needs ", num_bytes, " bytes, found ", out.size());
    }
}

inline void require_input(Bytes in, int64_t num_bytes, const char* name) {
    if (size_of(in) < num_bytes) {
        fail(name, " needs ", num_bytes, " bytes, found ", in.size());
    }
}

}  // namespace lance
