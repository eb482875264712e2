// Mini-block chunks from their parts; see chunks.h for the layout of a chunk.
#include <limits>

#include "encodings/encode.h"

namespace lance {

namespace {

// Writes forward inside one chunk; the caller has checked that it all fits.
class ChunkWriter {
  public:
    explicit ChunkWriter(MutableBytes chunk) : chunk_(chunk) {}

    template <class T>
    void put(int64_t value, const char* what) {
        if (value > static_cast<int64_t>(std::numeric_limits<T>::max())) fail(value, " ", what, " are too many");
        store(reserve(sizeof(T)), static_cast<T>(value));
    }

    void put(Bytes bytes) {
        copy(reserve(size_of(bytes)), bytes.data(), size_of(bytes));
        pad();
    }

    void pad() {
        const int64_t rest = (8 - at_ % 8) % 8;
        if (rest) std::memset(reserve(rest), 0, static_cast<size_t>(rest));
    }

    int64_t position() const { return at_; }

  private:
    uint8_t* reserve(int64_t num_bytes) {
        if (num_bytes > size_of(chunk_) - at_) fail("a chunk of ", chunk_.size(), " bytes is too short for its parts");
        uint8_t* to = chunk_.data() + at_;
        at_ += num_bytes;
        return to;
    }

    MutableBytes chunk_;
    int64_t at_ = 0;
};

}  // namespace

void assemble_chunks(Bytes chunk_starts, Bytes num_levels, const ChunkParts& parts, bool large, MutableBytes out) {
    const Starts starts(chunk_starts, size_of(out));
    const int64_t num_chunks = starts.size();
    require_input(num_levels, 2 * num_chunks, "num_levels");
    for (const auto& level : {parts.rep, parts.def}) {
        if (level && level->size() != num_chunks) fail("levels of ", level->size(), " chunks, not ", num_chunks);
    }
    for (const Parts& values : parts.values) {
        if (values.size() != num_chunks) fail("values of ", values.size(), " chunks, not ", num_chunks);
    }
    for (int64_t i = 0; i < num_chunks; ++i) {
        ChunkWriter chunk(out.subspan(static_cast<size_t>(starts[i]), static_cast<size_t>(starts[i + 1] - starts[i])));
        chunk.put<uint16_t>(load<uint16_t>(num_levels.data() + 2 * i), "levels");
        if (parts.rep) chunk.put<uint16_t>(size_of((*parts.rep)[i]), "bytes of repetition levels");
        if (parts.def) chunk.put<uint16_t>(size_of((*parts.def)[i]), "bytes of definition levels");
        for (const Parts& values : parts.values) {
            if (large) {
                chunk.put<uint32_t>(size_of(values[i]), "bytes of values");
            } else {
                chunk.put<uint16_t>(size_of(values[i]), "bytes of values");
            }
        }
        chunk.pad();
        if (parts.rep) chunk.put((*parts.rep)[i]);
        if (parts.def) chunk.put((*parts.def)[i]);
        for (const Parts& values : parts.values) chunk.put(values[i]);
        if (chunk.position() != starts[i + 1] - starts[i]) {
            fail("chunk ", i, " has ", chunk.position(), " bytes, not ", starts[i + 1] - starts[i]);
        }
    }
}

}  // namespace lance
