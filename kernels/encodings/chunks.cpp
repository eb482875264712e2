// The table of chunks is checked when it is made, ranges when they are given.
#include "encodings/chunks.h"

namespace lance {

namespace {

// Word sizes and the padding of a chunk's parts.
constexpr int64_t kAlignment = 8;
constexpr int64_t kMaxBuffers = 1024;

int64_t pad(int64_t position) { return (position + kAlignment - 1) & ~(kAlignment - 1); }

// `num_bytes` at `position` of `chunk`, without the padding that follows.
Bytes part(Bytes bytes, int64_t position, int64_t num_bytes, int64_t chunk, const char* name) {
    if (position > size_of(bytes) || num_bytes > size_of(bytes) - position) {
        fail("chunk ", chunk, ": the ", name, " needs bytes ", position, " to ", position + num_bytes,
             ", the chunk has ", bytes.size());
    }
    return bytes.subspan(static_cast<size_t>(position), static_cast<size_t>(num_bytes));
}

// The fixed-position fields at the start of a chunk.
class Header {
  public:
    Header(Bytes bytes, const ChunkShape& shape, int64_t chunk) : bytes_(bytes), shape_(shape) {
        part(bytes, 0, num_bytes(), chunk, "header");
    }

    int64_t num_levels() const { return load<uint16_t>(bytes_.data()); }
    int64_t rep_bytes() const { return shape_.has_rep ? load<uint16_t>(bytes_.data() + 2) : 0; }
    int64_t def_bytes() const { return shape_.has_def ? load<uint16_t>(bytes_.data() + (shape_.has_rep ? 4 : 2)) : 0; }
    int64_t value_bytes(int64_t buffer_index) const {
        const uint8_t* sizes = bytes_.data() + sizes_position();
        return shape_.large ? int64_t{load<uint32_t>(sizes + 4 * buffer_index)}
                            : int64_t{load<uint16_t>(sizes + 2 * buffer_index)};
    }
    int64_t num_bytes() const { return sizes_position() + shape_.num_buffers * (shape_.large ? 4 : 2); }

    int64_t rep_position() const { return pad(num_bytes()); }
    int64_t def_position() const { return pad(rep_position() + rep_bytes()); }
    int64_t values_position() const { return pad(def_position() + def_bytes()); }

  private:
    int64_t sizes_position() const { return 2 + (shape_.has_rep ? 2 : 0) + (shape_.has_def ? 2 : 0); }

    Bytes bytes_;
    const ChunkShape& shape_;
};

}  // namespace

ChunkTable::ChunkTable(Bytes metadata, int64_t num_items, ChunkShape shape, int64_t num_bytes) : shape_(shape) {
    const int64_t word_bytes = shape.large ? 4 : 2;
    if (shape.num_buffers > kMaxBuffers) fail(shape.num_buffers, " buffers in each chunk are too many");
    if (size_of(metadata) % word_bytes != 0) {
        fail("the chunk table has ", metadata.size(), " bytes, not a multiple of ", word_bytes);
    }
    const int64_t num_chunks = size_of(metadata) / word_bytes;
    item_starts_.reserve(num_chunks + 1);
    byte_offsets_.reserve(num_chunks + 1);
    int64_t item = 0;
    int64_t offset = 0;
    item_starts_.push_back(0);
    byte_offsets_.push_back(0);
    for (int64_t i = 0; i < num_chunks; ++i) {
        const uint8_t* at = metadata.data() + i * word_bytes;
        const int64_t word = shape.large ? int64_t{load<uint32_t>(at)} : int64_t{load<uint16_t>(at)};
        offset += ((word >> 4) + 1) * kAlignment;
        const int64_t log2_values = word & 0xF;
        if (i + 1 == num_chunks) {
            item = num_items;  // the last chunk takes the rest; its own count has no meaning
        } else if (log2_values == 0) {
            fail("chunk ", i, " of ", num_chunks, " holds one value; only the last chunk may");
        } else {
            item += int64_t{1} << log2_values;
            if (item > num_items) {
                fail("chunks 0 to ", i, " hold ", item, " items, the page has ", num_items);
            }
        }
        if (offset > num_bytes) {
            fail("chunk ", i, " ends at byte ", offset, ", the page's chunks have ", num_bytes);
        }
        item_starts_.push_back(item);
        byte_offsets_.push_back(offset);
    }
    if (num_chunks == 0 && num_items > 0) fail("a page of ", num_items, " items has no chunks");
}

int64_t ChunkTable::chunk_of(int64_t item, int64_t hint) const {
    if (item_starts_[hint] <= item && item < item_starts_[hint + 1]) return hint;
    const auto after = std::upper_bound(item_starts_.begin() + hint, item_starts_.end(), item);
    return after - item_starts_.begin() - 1;
}

Chunks::Chunks(const ChunkTable& table, Bytes data, int64_t data_start)
    : table_(&table), data_(data), data_start_(data_start) {}

Extents::Extents(Bytes pairs, int64_t num_bytes) {
    if (pairs.empty() || pairs.size() % 16 != 0) fail("extents of ", pairs.size(), " bytes");
    int64_t position = 0;
    int64_t previous = 0;
    for (size_t i = 0; i < pairs.size(); i += 16) {
        const auto start = load<int64_t>(pairs.data() + i);
        const auto end = load<int64_t>(pairs.data() + i + 8);
        if (start < previous || end < start || end > kMaxCount)
            fail("extent ", start, " to ", end, " after ", previous);
        parts_.push_back({start, end, position});
        position += end - start;
        previous = end;
    }
    if (position != num_bytes) fail("extents of ", position, " bytes in ", num_bytes);
}

int64_t Extents::position(int64_t start, int64_t end) const {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), start,
                                        [](int64_t wanted, const Part& part) { return wanted < part.start; });
    if (after == parts_.begin()) return -1;
    const Part& part = *(after - 1);
    return end <= part.end ? part.position + (start - part.start) : -1;
}

Chunks::Chunks(const ChunkTable& table, Bytes data, int64_t page_start, const Extents& extents)
    : table_(&table), data_(data), data_start_(page_start), extents_(&extents) {}

Bytes Chunks::bytes(int64_t chunk) const {
    if (extents_) {
        const int64_t first = data_start_ + table_->byte_offsets()[chunk];
        const int64_t last = data_start_ + table_->byte_offsets()[chunk + 1];
        const int64_t position = extents_->position(first, last);
        if (position < 0)
            fail("chunk ", chunk, " has bytes ", first, " to ", last, " of the file, which were not read");
        return data_.subspan(static_cast<size_t>(position), static_cast<size_t>(last - first));
    }
    const int64_t start = table_->byte_offsets()[chunk] - data_start_;
    const int64_t end = table_->byte_offsets()[chunk + 1] - data_start_;
    if (start < 0 || end > size_of(data_)) {
        fail("chunk ", chunk, " has bytes ", start + data_start_, " to ", end + data_start_, ", found ", data_start_,
             " to ", data_start_ + size_of(data_));
    }
    return data_.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
}

int64_t Chunks::num_levels(int64_t chunk) const { return Header(bytes(chunk), table_->shape(), chunk).num_levels(); }

Bytes Chunks::rep(int64_t chunk) const {
    const Bytes all = bytes(chunk);
    const Header header(all, table_->shape(), chunk);
    return part(all, header.rep_position(), header.rep_bytes(), chunk, "repetition buffer");
}

Bytes Chunks::def(int64_t chunk) const {
    const Bytes all = bytes(chunk);
    const Header header(all, table_->shape(), chunk);
    return part(all, header.def_position(), header.def_bytes(), chunk, "definition buffer");
}

Bytes Chunks::values(int64_t chunk, int64_t buffer_index) const {
    if (buffer_index == 0 && !first_offsets_.empty()) {
        const int64_t i = chunk - first_chunk_;
        if (i < 0 || i + 1 >= static_cast<int64_t>(first_offsets_.size())) {
            fail("chunk ", chunk, " has no replaced value buffer");
        }
        return first_buffers_.subspan(static_cast<size_t>(first_offsets_[i]),
                                      static_cast<size_t>(first_offsets_[i + 1] - first_offsets_[i]));
    }
    const Bytes all = bytes(chunk);
    const Header header(all, table_->shape(), chunk);
    int64_t position = header.values_position();
    for (int64_t i = 0; i < buffer_index; ++i) position = pad(position + header.value_bytes(i));
    return part(all, position, header.value_bytes(buffer_index), chunk, "value buffer");
}

Chunks Chunks::with_first_buffer(int64_t first_chunk, Bytes data, Bytes offsets) const {
    if (offsets.size() % 8 != 0 || offsets.empty()) fail("offsets need k + 1 int64 values");
    require_buffer_index(0);
    const int64_t num_chunks = size_of(offsets) / 8 - 1;
    require_chunks(first_chunk, first_chunk + num_chunks);
    Chunks replaced = *this;
    replaced.first_chunk_ = first_chunk;
    replaced.first_buffers_ = data;
    replaced.first_offsets_.assign(static_cast<size_t>(num_chunks) + 1, 0);
    int64_t previous = 0;
    for (int64_t i = 0; i <= num_chunks; ++i) {
        const int64_t offset = load<int64_t>(offsets.data() + 8 * i);
        if (offset < previous || offset > size_of(data)) {
            fail("offset ", offset, " of replaced buffer ", i, " does not lie in ", previous, "..", data.size());
        }
        replaced.first_offsets_[i] = previous = offset;
    }
    return replaced;
}

void Chunks::require_chunks(int64_t first_chunk, int64_t end_chunk) const {
    if (first_chunk > end_chunk || end_chunk > table_->num_chunks()) {
        fail("chunks ", first_chunk, " to ", end_chunk, " are not in a page of ", table_->num_chunks());
    }
}

void Chunks::require_buffer_index(int64_t buffer_index) const {
    if (buffer_index >= table_->shape().num_buffers) {
        fail("value buffer ", buffer_index, " is not among ", table_->shape().num_buffers);
    }
}

Ranges::Ranges(Bytes pairs, int64_t num_items) : pairs_(pairs) {
    if (pairs.size() % 16 != 0) fail("ranges have ", pairs.size(), " bytes, not a multiple of 16");
    int64_t previous = 0;
    for (int64_t i = 0; i < size(); ++i) {
        if (start(i) < previous || end(i) < start(i) || end(i) > num_items) {
            fail("range ", start(i), " to ", end(i), " after ", previous, " does not lie in a page of ", num_items,
                 " items");
        }
        previous = end(i);
        num_items_ += end(i) - start(i);
    }
}

}  // namespace lance
