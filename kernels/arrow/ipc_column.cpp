// Tables of flatbuffers, with every position checked.
#include "arrow/ipc_column.h"

#include <algorithm>
#include <array>
#include <optional>

namespace lance {

namespace {

constexpr std::array<uint8_t, 6> kMagic = {'A', 'R', 'R', 'O', 'W', '1'};
constexpr uint32_t kContinuation = 0xffffffff;
constexpr uint8_t kIntType = 2;
constexpr uint8_t kRecordBatch = 3;
constexpr int64_t kBlockBytes = 24;
constexpr int64_t kNodeBytes = 16;
constexpr int64_t kBufferBytes = 16;
constexpr int64_t kNumBuffers = 2;  // validity, values
constexpr int64_t kSizeBytes = 8;
constexpr int64_t kStoredAsItIs = -1;

// Flatbuffers: positions are relative to where they stand, and a field that is not set is not there.
class Flatbuffer {
  public:
    explicit Flatbuffer(Bytes file) : file_(file) {}

    template <class T>
    T at(int64_t position) const {
        if (position < 0 || position > size_of(file_) - static_cast<int64_t>(sizeof(T))) {
            fail("an Arrow file of ", file_.size(), " bytes refers to byte ", position);
        }
        return load<T>(file_.data() + position);
    }

    // Target of the offset at a position.
    int64_t target(int64_t position) const { return position + at<uint32_t>(position); }

    // Position of a field of a table.
    std::optional<int64_t> field(int64_t table, int64_t slot) const {
        const int64_t fields = table - at<int32_t>(table);
        const int64_t entry = 4 + 2 * slot;
        if (entry + 2 > at<uint16_t>(fields)) return std::nullopt;
        const uint16_t offset = at<uint16_t>(fields + entry);
        return offset ? std::optional(table + offset) : std::nullopt;
    }

    template <class T>
    T value(int64_t table, int64_t slot, T unset) const {
        const auto position = field(table, slot);
        return position ? at<T>(*position) : unset;
    }

    int64_t child(int64_t table, int64_t slot, const char* name) const {
        const auto position = field(table, slot);
        if (!position) fail("an Arrow file without ", name);
        return target(*position);
    }

    // Position of the first item of a vector, whose items are inside the file, and their number.
    struct Vector {
        int64_t first;
        int64_t size;
    };

    Vector vector(int64_t table, int64_t slot, int64_t item_bytes) const {
        const auto position = field(table, slot);
        if (!position) return {0, 0};
        const int64_t start = target(*position);
        const int64_t size = at<uint32_t>(start);
        if (size > (size_of(file_) - start - 4) / item_bytes) {
            fail("a vector of ", size, " items does not fit into an Arrow file of ", file_.size(), " bytes");
        }
        return {start + 4, size};
    }

  private:
    Bytes file_;
};

int64_t footer(Bytes file, const Flatbuffer& tables) {
    constexpr int64_t kTailBytes = sizeof(int32_t) + kMagic.size();
    const int64_t end = size_of(file) - kTailBytes;
    if (end < 0 || !std::equal(kMagic.begin(), kMagic.end(), file.end() - kMagic.size())) {
        fail("not an Arrow file: the last bytes are not ARROW1");
    }
    return tables.target(end - tables.at<int32_t>(end));
}

bool is_signed(const Flatbuffer& tables, int64_t schema) {
    if (tables.value<int16_t>(schema, 0, 0) != 0) fail("an Arrow file of another byte order");
    const auto fields = tables.vector(schema, 1, 4);
    if (fields.size != 1) fail("one column of uint32 is expected, not ", fields.size, " columns");
    const int64_t column = tables.target(fields.first);
    if (tables.value<uint8_t>(column, 2, 0) != kIntType || tables.field(column, 4)) {
        fail("one column of uint32 is expected, not one of another type");
    }
    const int64_t type = tables.child(column, 3, "the type of its column");
    if (const auto bits = tables.value<int32_t>(type, 0, 0); bits != 32) {
        fail("one column of uint32 is expected, not one of ", bits, " bits");
    }
    return tables.value<uint8_t>(type, 1, 0) != 0;
}

IpcCodec codec(const Flatbuffer& tables, int64_t batch) {
    const auto compression = tables.field(batch, 3);
    if (!compression) return IpcCodec::kNone;
    const int64_t table = tables.target(*compression);
    const auto number = tables.value<int8_t>(table, 0, 0);
    if (number != 0 && number != 1) fail("compression ", int{number}, " of Arrow is not known");
    if (const auto method = tables.value<int8_t>(table, 1, 0); method != 0) {
        fail("method ", int{method}, " of Arrow's compression is not known");
    }
    return static_cast<IpcCodec>(number);
}

IpcValues values(Bytes file, const Flatbuffer& tables, int64_t message, int64_t body) {
    if (tables.value<uint8_t>(message, 1, 0) != kRecordBatch) fail("a message of an Arrow file is not a record batch");
    const int64_t batch = tables.child(message, 2, "the header of a message");
    const auto nodes = tables.vector(batch, 1, kNodeBytes);
    const auto buffers = tables.vector(batch, 2, kBufferBytes);
    if (nodes.size != 1 || buffers.size != kNumBuffers) {
        fail("a record batch of ", nodes.size, " columns and ", buffers.size, " buffers is not one column of numbers");
    }
    IpcValues chunk{tables.value<int64_t>(batch, 0, 0), 0, 0, 0, codec(tables, batch)};
    if (chunk.num_rows < 0 || chunk.num_rows > kMaxCount || tables.at<int64_t>(nodes.first) != chunk.num_rows) {
        fail("a record batch of ", chunk.num_rows, " rows has a column of ", tables.at<int64_t>(nodes.first));
    }
    if (const auto nulls = tables.at<int64_t>(nodes.first + 8); nulls != 0) fail(nulls, " values are null");

    const int64_t offset = tables.at<int64_t>(buffers.first + kBufferBytes);
    chunk.size = tables.at<int64_t>(buffers.first + kBufferBytes + 8);
    const int64_t most = size_of(file) - body;
    if (body < 0 || most < 0 || offset < 0 || chunk.size < 0 || offset > most || chunk.size > most - offset) {
        fail("values at ", offset, ", ", chunk.size, " bytes of them, are not inside of an Arrow file of ",
             file.size());
    }
    chunk.start = body + offset;
    chunk.num_bytes = chunk.size;
    if (chunk.size == 0) {
        chunk.codec = IpcCodec::kNone;
    } else if (chunk.codec != IpcCodec::kNone) {
        if (chunk.size < kSizeBytes) fail("a compressed buffer of ", chunk.size, " bytes has no size");
        chunk.num_bytes = tables.at<int64_t>(chunk.start);
        chunk.start += kSizeBytes;
        chunk.size -= kSizeBytes;
        if (chunk.num_bytes == kStoredAsItIs) {
            chunk.codec = IpcCodec::kNone;
            chunk.num_bytes = chunk.size;
        }
    }
    if (chunk.num_bytes < chunk.num_rows * int64_t{sizeof(uint32_t)}) {
        fail(chunk.num_bytes, " bytes of values are not the ", chunk.num_rows, " rows of a record batch");
    }
    return chunk;
}

}  // namespace

IpcColumn ipc_column(Bytes file) {
    const Flatbuffer tables(file);
    const int64_t root = footer(file, tables);
    IpcColumn column{is_signed(tables, tables.child(root, 1, "a schema")), {}};
    const auto blocks = tables.vector(root, 3, kBlockBytes);
    column.batches.reserve(static_cast<size_t>(blocks.size));
    for (int64_t i = 0; i < blocks.size; ++i) {
        const int64_t block = blocks.first + i * kBlockBytes;
        const int64_t offset = tables.at<int64_t>(block);
        if (offset < 0 || offset > size_of(file)) fail("a record batch begins at byte ", offset);
        const bool has_word = tables.at<uint32_t>(offset) == kContinuation;
        const int64_t message = tables.target(offset + (has_word ? 8 : 4));
        column.batches.push_back(values(file, tables, message, offset + tables.at<int32_t>(block + 8)));
    }
    return column;
}

}  // namespace lance
