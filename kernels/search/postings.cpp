// Source: full text index specification, posting lists.
#include "search/posting_lists.h"

#include <algorithm>
#include <array>

namespace lance {

namespace {

constexpr int64_t kValuesPerLane = 32;
constexpr int64_t kMostBlock = 256;

// The bytes of one block, read from its beginning.
class Reader {
  public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}

    const uint8_t* take(int64_t num_bytes) {
        if (num_bytes > size_of(bytes_) - at_) fail("a block of ", bytes_.size(), " bytes ends too early");
        const uint8_t* data = bytes_.data() + at_;
        at_ += num_bytes;
        return data;
    }

    uint8_t byte() { return *take(1); }
    uint32_t word() { return load<uint32_t>(take(4)); }

    uint32_t varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 35; shift += 7) {
            const uint8_t next = byte();
            value |= static_cast<uint64_t>(next & 0x7f) << shift;
            if (next < 0x80) {
                if (value >> 32 != 0) break;
                return static_cast<uint32_t>(value);
            }
        }
        fail("a number of more than 32 bits");
    }

  private:
    Bytes bytes_;
    int64_t at_ = 0;
};

using Values = std::array<uint32_t, kMostBlock>;

// Value i is at index i / lanes of lane i % lanes; a lane packs its 32 values into `width` words, and the words of the
// lanes alternate.
void unpack(Reader& reader, int64_t count, int64_t width, Values& out) {
    if (width > 32) fail("values of ", width, " bits");
    const int64_t lanes = count / kValuesPerLane;
    const uint8_t* words = reader.take(4 * lanes * width);
    const uint64_t mask = (uint64_t{1} << width) - 1;
    for (int64_t lane = 0; lane < lanes; ++lane) {
        for (int64_t i = 0; i < kValuesPerLane; ++i) {
            const int64_t bit = i * width, word = bit / 32;
            uint64_t value = 0;
            if (width > 0) {
                value = load<uint32_t>(words + 4 * (word * lanes + lane));
                if (word + 1 < width) value |= uint64_t{load<uint32_t>(words + 4 * ((word + 1) * lanes + lane))} << 32;
            }
            out[static_cast<size_t>(i * lanes + lane)] = static_cast<uint32_t>(value >> (bit % 32) & mask);
        }
    }
}

void full_block(Reader& reader, int64_t count, Values& documents, Values& frequencies) {
    uint32_t before = reader.word();
    unpack(reader, count, reader.byte(), documents);
    for (int64_t i = 0; i < count; ++i) {
        // wraps around if it is damaged, which is detected because documents do not ascend
        before += documents[static_cast<size_t>(i)];
        documents[static_cast<size_t>(i)] = before;
    }
    const int64_t width = reader.byte();
    if (count == 128) {
        unpack(reader, count, width, frequencies);
        return;
    }
    const int64_t num_exceptions = reader.byte();
    unpack(reader, count, width, frequencies);
    for (int64_t i = 0; i < num_exceptions; ++i) {
        const size_t index = reader.byte();
        const uint64_t high = reader.varint();
        frequencies[index] |= static_cast<uint32_t>(high << width);
    }
}

void last_block(Reader& reader, int64_t count, bool is_varint, Values& documents, Values& frequencies) {
    uint32_t before = 0;
    for (int64_t i = 0; i < count; ++i) {
        before = is_varint ? before + reader.varint() : reader.word();
        documents[static_cast<size_t>(i)] = before;
    }
    for (int64_t i = 0; i < count; ++i) {
        frequencies[static_cast<size_t>(i)] = is_varint ? reader.varint() : reader.word();
    }
}

}  // namespace

void decode_postings(Bytes blocks, Bytes offsets, int64_t num_documents, int64_t block_size, bool is_varint,
                     int64_t most_documents, MutableBytes documents, MutableBytes frequencies) {
    if (block_size != 128 && block_size != 256) fail("blocks of ", block_size, " documents");
    const int64_t num_blocks = (num_documents + block_size - 1) / block_size;
    require_input(offsets, multiply(num_blocks + 1, 8), "offsets");
    require_output(documents, multiply(num_documents, 4), "documents");
    require_output(frequencies, multiply(num_documents, 4), "frequencies");
    Values ids, counts;
    int64_t before = -1;
    for (int64_t j = 0; j < num_blocks; ++j) {
        const int64_t start = load<int64_t>(offsets.data() + 8 * j), end = load<int64_t>(offsets.data() + 8 * (j + 1));
        if (start < 0 || end < start || end > size_of(blocks)) fail("block ", j, " at bytes ", start, " to ", end);
        Reader reader(blocks.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start)));
        // the greatest score of the block
        if (block_size == 128) reader.take(4);
        const int64_t first = j * block_size, count = std::min(block_size, num_documents - first);
        if (count == block_size) {
            full_block(reader, count, ids, counts);
        } else {
            last_block(reader, count, is_varint, ids, counts);
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t id = ids[static_cast<size_t>(i)];
            if (id <= before || id >= most_documents) fail("document ", id, " of ", most_documents, " after ", before);
            before = id;
            store(documents.data() + 4 * (first + i), ids[static_cast<size_t>(i)]);
            store(frequencies.data() + 4 * (first + i), counts[static_cast<size_t>(i)]);
        }
    }
}

}  // namespace lance
