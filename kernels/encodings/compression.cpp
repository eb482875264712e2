// The libraries of the system, found when they are needed, and what takes their place.
#include "encodings/compression.h"

#ifndef _WIN32
#include <dlfcn.h>
#endif

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <memory>

#include "encodings/decode.h"

namespace lance {

namespace {

// No buffer may claim to become larger than this, nor to have shrunk further than a compressor can do.
constexpr int64_t kMostBytes = int64_t{1} << 31;
constexpr int64_t kLz4Ratio = 256;
constexpr int64_t kZstdRatio = 1 << 16;

constexpr uint32_t kZstdMagic = 0xFD2FB528;
constexpr int64_t kPieceBytes = 128 * 1024;

// The parts of the stable interfaces that are used; see lz4.h and zstd.h.
struct Lz4Library {
    int (*decompress_safe)(const char* from, char* to, int from_size, int to_size) = nullptr;
    const char* (*version)() = nullptr;
    const char* name = nullptr;
};

struct ZstdOut {
    void* data;
    size_t size;
    size_t position;
};
struct ZstdIn {
    const void* data;
    size_t size;
    size_t position;
};

struct ZstdLibrary {
    void* (*create)() = nullptr;
    size_t (*free)(void* context) = nullptr;
    size_t (*decompress)(void* context, void* to, size_t to_size, const void* from, size_t from_size) = nullptr;
    size_t (*decompress_stream)(void* context, ZstdOut* to, ZstdIn* from) = nullptr;
    size_t (*reset)(void* context, int directive) = nullptr;
    unsigned (*is_error)(size_t code) = nullptr;
    const char* (*error_name)(size_t code) = nullptr;
    const char* (*version)() = nullptr;
    const char* name = nullptr;
};

constexpr int kResetSession = 1;

#ifndef _WIN32
struct Symbol {
    const char* name;
    void** to;
};

// The name under which a library with all of the symbols was opened; it is never closed.
const char* open_library(std::initializer_list<const char*> names, std::initializer_list<Symbol> symbols) {
    for (const char* name : names) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        bool has_all = true;
        for (const Symbol& symbol : symbols) {
            *symbol.to = dlsym(library, symbol.name);
            has_all = has_all && *symbol.to != nullptr;
        }
        if (has_all) return name;
    }
    return nullptr;
}

template <class Function>
void** slot(Function*& function) {
    return reinterpret_cast<void**>(&function);
}
#endif

// Never destroyed: threads may be inside them when the process ends.
const Lz4Library& lz4() {
    static const Lz4Library* library = [] {
        auto* table = new Lz4Library;
#ifndef _WIN32
        table->name = open_library(
            {"liblz4.so.1", "liblz4.1.dylib"},
            {{"LZ4_decompress_safe", slot(table->decompress_safe)}, {"LZ4_versionString", slot(table->version)}});
#endif
        return table;
    }();
    return *library;
}

const ZstdLibrary& zstd() {
    static const ZstdLibrary* library = [] {
        auto* table = new ZstdLibrary;
#ifndef _WIN32
        table->name = open_library({"libzstd.so.1", "libzstd.1.dylib"},
                                   {{"ZSTD_createDCtx", slot(table->create)},
                                    {"ZSTD_freeDCtx", slot(table->free)},
                                    {"ZSTD_decompressDCtx", slot(table->decompress)},
                                    {"ZSTD_decompressStream", slot(table->decompress_stream)},
                                    {"ZSTD_DCtx_reset", slot(table->reset)},
                                    {"ZSTD_isError", slot(table->is_error)},
                                    {"ZSTD_getErrorName", slot(table->error_name)},
                                    {"ZSTD_versionString", slot(table->version)}});
#endif
        return table;
    }();
    return *library;
}

std::atomic<bool> uses_libraries = true;
std::atomic<Decompress> fallback = nullptr;

bool has_library(Compression compression) {
    if (!uses_libraries) return false;
    return (compression == Compression::kLz4 ? lz4().name : zstd().name) != nullptr;
}

const char* name_of(Compression compression) { return compression == Compression::kLz4 ? "lz4" : "zstd"; }

int64_t header_of(Compression compression) { return compression == Compression::kLz4 ? 4 : 8; }

bool is_bare_frame(Compression compression, Bytes buffer) {
    return compression == Compression::kZstd && buffer.size() >= 4 && load<uint32_t>(buffer.data()) == kZstdMagic;
}

// Decompression state of one thread.
void* zstd_context() {
    struct Context {
        void* own = nullptr;
        ~Context() {
            if (own != nullptr) zstd().free(own);
        }
    };
    static thread_local Context context;
    if (context.own == nullptr) context.own = zstd().create();
    if (context.own == nullptr) throw std::bad_alloc();
    return context.own;
}

[[noreturn]] void fail_in(Compression compression, const char* reason) {
    fail("a ", name_of(compression), " buffer cannot be decompressed: ", reason);
}

std::string without_library(Compression compression, Bytes buffer) {
    const Decompress other = fallback;
    if (other == nullptr) fail_in(compression, "there is no library for it");
    return other(compression, buffer);
}

// Frames without a size in front are decompressed piece by piece: visit(piece) for each.
template <class Visit>
void stream_frames(Bytes frames, Visit visit) {
    const ZstdLibrary& library = zstd();
    void* context = zstd_context();
    library.reset(context, kResetSession);
    const auto piece = std::make_unique<uint8_t[]>(kPieceBytes);
    ZstdIn in{frames.data(), frames.size(), 0};
    size_t left = 1;
    for (;;) {
        ZstdOut out{piece.get(), static_cast<size_t>(kPieceBytes), 0};
        const size_t before = in.position;
        left = library.decompress_stream(context, &out, &in);
        if (library.is_error(left)) fail_in(Compression::kZstd, library.error_name(left));
        visit(Bytes(piece.get(), out.position));
        if (out.position == 0 && in.position == before) break;
        if (left == 0 && in.position == in.size) break;
    }
    library.reset(context, kResetSession);
    if (left != 0) fail_in(Compression::kZstd, "the frame is cut off");
}

}  // namespace

int64_t most_decompressed(Compression compression, int64_t num_bytes) {
    const int64_t ratio = compression == Compression::kLz4 ? kLz4Ratio : kZstdRatio;
    return num_bytes > kMaxCount / ratio ? kMaxCount : num_bytes * ratio;
}

int64_t decompressed_size(Compression compression, Bytes buffer) {
    if (buffer.empty()) return 0;
    if (is_bare_frame(compression, buffer)) {
        const int64_t most = std::min(kMostBytes, most_decompressed(compression, size_of(buffer)));
        if (!has_library(compression)) return static_cast<int64_t>(without_library(compression, buffer).size());
        int64_t size = 0;
        stream_frames(buffer, [&](Bytes piece) {
            size += size_of(piece);
            if (size > most) fail("a zstd buffer of ", buffer.size(), " bytes holds more than ", most, " bytes");
        });
        return size;
    }
    const int64_t header = header_of(compression);
    if (size_of(buffer) < header) fail("a compressed buffer of ", buffer.size(), " bytes has no size");
    const uint64_t size = header == 4 ? uint64_t{load<uint32_t>(buffer.data())} : load<uint64_t>(buffer.data());
    const int64_t most = std::min(kMostBytes, most_decompressed(compression, size_of(buffer) - header));
    if (size > static_cast<uint64_t>(most)) {
        fail("a ", name_of(compression), " buffer of ", buffer.size(), " bytes claims to hold ", size, " bytes");
    }
    return static_cast<int64_t>(size);
}

void decompress(Compression compression, Bytes buffer, MutableBytes to) {
    if (to.empty()) return;
    if (!has_library(compression)) {
        const std::string decompressed = without_library(compression, buffer);
        if (decompressed.size() != to.size()) fail_in(compression, "it has another size");
        copy(to.data(), reinterpret_cast<const uint8_t*>(decompressed.data()), size_of(to));
        return;
    }
    if (is_bare_frame(compression, buffer)) {
        int64_t done = 0;
        stream_frames(buffer, [&](Bytes piece) {
            require_output(to, done + size_of(piece));
            copy(to.data() + done, piece.data(), size_of(piece));
            done += size_of(piece);
        });
        if (done != size_of(to)) fail_in(compression, "it has another size");
        return;
    }
    const Bytes body = buffer.subspan(static_cast<size_t>(header_of(compression)));
    if (compression == Compression::kZstd) {
        const ZstdLibrary& library = zstd();
        const size_t size = library.decompress(zstd_context(), to.data(), to.size(), body.data(), body.size());
        if (library.is_error(size)) fail_in(compression, library.error_name(size));
        if (size != to.size()) fail("a zstd buffer does not hold the ", to.size(), " bytes that it claims");
        return;
    }
    if (body.size() > INT32_MAX || to.size() > INT32_MAX) fail_in(compression, "it is larger than a block can be");
    const int size =
        lz4().decompress_safe(reinterpret_cast<const char*>(body.data()), reinterpret_cast<char*>(to.data()),
                              static_cast<int>(body.size()), static_cast<int>(to.size()));
    if (size < 0) fail_in(compression, "it is damaged");
    if (static_cast<size_t>(size) != to.size()) {
        fail("an lz4 buffer does not hold the ", to.size(), " bytes that it claims");
    }
}

std::string library_of(Compression compression) {
    if (!has_library(compression)) return {};
    const char* version = compression == Compression::kLz4 ? lz4().version() : zstd().version();
    return std::string(compression == Compression::kLz4 ? lz4().name : zstd().name) + " " + version;
}

void set_fallback(Decompress other) { fallback = other; }

void use_libraries(bool are_used) { uses_libraries = are_used; }

namespace {

constexpr int64_t kMinMatch = 4;

// A length of 15 in the token goes on in the bytes that follow, up to one that is not 255.
int64_t length(Bytes block, int64_t nibble, int64_t& at) {
    int64_t total = nibble;
    if (nibble < 15) return total;
    for (;;) {
        if (at == size_of(block)) fail("an LZ4 block ends inside of a length");
        const uint8_t more = block[static_cast<size_t>(at++)];
        total += more;
        if (more != 255) return total;
    }
}

}  // namespace

// A block is a row of sequences: a token (literals << 4 | match - 4), literals, u16 distance; the last one ends after
// its literals.
int64_t lz4_size(Bytes block) {
    int64_t at = 0;
    int64_t total = 0;
    while (at < size_of(block)) {
        const uint8_t token = block[static_cast<size_t>(at++)];
        const int64_t literals = length(block, token >> 4, at);
        if (literals > size_of(block) - at) fail("an LZ4 block ends inside of its literals");
        at += literals;
        total += literals;
        if (at == size_of(block)) break;
        if (size_of(block) - at < 2) fail("an LZ4 block ends inside of a distance");
        at += 2;
        total += length(block, token & 15, at) + kMinMatch;
    }
    return total;
}

}  // namespace lance
