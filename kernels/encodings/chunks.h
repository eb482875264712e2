// A mini-block page: its chunk table, the bytes of its chunks, and ranges of its items.
//
// chunk = u16 num_levels, [u16 rep bytes], [u16 def bytes], sizes of the value buffers (u16, or u32 in large
//         pages), pad to 8, [rep] pad, [def] pad, value buffer 0, pad, value buffer 1, pad, ...
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "system/bytes.h"

namespace lance {

struct ChunkShape {
    bool large;
    bool has_rep;
    bool has_def;
    int64_t num_buffers;
};

class ChunkTable {
  public:
    // metadata: one word (u16, u32 if large) per chunk; num_bytes: length of the page's chunk buffer
    ChunkTable(Bytes metadata, int64_t num_items, ChunkShape shape, int64_t num_bytes);

    int64_t num_chunks() const { return static_cast<int64_t>(item_starts_.size()) - 1; }
    int64_t num_items() const { return item_starts_.back(); }
    int64_t num_items(int64_t chunk) const { return item_starts_[chunk + 1] - item_starts_[chunk]; }
    const ChunkShape& shape() const { return shape_; }
    const std::vector<int64_t>& item_starts() const { return item_starts_; }
    const std::vector<int64_t>& byte_offsets() const { return byte_offsets_; }

    // The chunk that holds `item`, searched from chunk `hint` on; item < num_items().
    int64_t chunk_of(int64_t item, int64_t hint = 0) const;

  private:
    ChunkShape shape_;
    std::vector<int64_t> item_starts_;
    std::vector<int64_t> byte_offsets_;
};

// Parts of a file in one buffer, in ascending order.
class Extents {
  public:
    Extents() = default;
    // pairs: int64 start and end of each part in the file; together they are as long as the buffer, of num_bytes
    Extents(Bytes pairs, int64_t num_bytes);

    bool empty() const { return parts_.empty(); }
    // Position of bytes [start, end) of the file in the buffer; -1 if they are not all in one part.
    int64_t position(int64_t start, int64_t end) const;

  private:
    struct Part {
        int64_t start;
        int64_t end;
        int64_t position;
    };
    std::vector<Part> parts_;
};

// The chunks of a page of which some bytes are in memory.
class Chunks {
  public:
    // data: bytes [data_start, data_start + size) of the page's chunk buffer; both outlive this object
    Chunks(const ChunkTable& table, Bytes data, int64_t data_start);
    // data: parts of the file, in which the page's chunk buffer begins at page_start; all three outlive this object
    Chunks(const ChunkTable& table, Bytes data, int64_t page_start, const Extents& extents);

    const ChunkTable& table() const { return *table_; }
    int64_t num_items(int64_t chunk) const { return table_->num_items(chunk); }

    // All of these check that the chunk is in memory and that the buffer ends inside it.
    int64_t num_levels(int64_t chunk) const;
    Bytes rep(int64_t chunk) const;
    Bytes def(int64_t chunk) const;
    Bytes values(int64_t chunk, int64_t buffer_index) const;

    // These chunks with other bytes in value buffer 0: those of chunk first_chunk + i are data[offsets[i] : offsets[i +
    // 1]].
    Chunks with_first_buffer(int64_t first_chunk, Bytes data, Bytes offsets) const;

    // The beginning of a chunk, if there is one, is read soon.
    void prefetch(int64_t chunk) const {
        if (extents_) return;
        const int64_t start = chunk < table_->num_chunks() ? table_->byte_offsets()[chunk] - data_start_ : -1;
        if (start >= 0 && start < size_of(data_)) lance::prefetch(data_.data() + start);
    }

    void require_chunks(int64_t first_chunk, int64_t end_chunk) const;
    void require_buffer_index(int64_t buffer_index) const;

  private:
    Bytes bytes(int64_t chunk) const;

    const ChunkTable* table_;
    Bytes data_;
    int64_t data_start_;
    const Extents* extents_ = nullptr;
    Bytes first_buffers_;
    std::vector<int64_t> first_offsets_;
    int64_t first_chunk_ = 0;
};

// Sorted, disjoint, half-open item ranges: int64 pairs.
class Ranges {
  public:
    Ranges(Bytes pairs, int64_t num_items);

    int64_t size() const { return size_of(pairs_) / 16; }
    int64_t start(int64_t i) const { return load<int64_t>(pairs_.data() + 16 * i); }
    int64_t end(int64_t i) const { return load<int64_t>(pairs_.data() + 16 * i + 8); }
    int64_t num_items() const { return num_items_; }
    // The first item, and one past the last; both 0 without items.
    std::pair<int64_t, int64_t> bounds() const {
        int64_t first = -1;
        int64_t end = 0;
        for (int64_t i = 0; i < size(); ++i) {
            if (start(i) == this->end(i)) continue;
            if (first < 0) first = start(i);
            end = this->end(i);
        }
        return {std::max<int64_t>(first, 0), end};
    }
    bool operator==(const Ranges& other) const { return std::ranges::equal(pairs_, other.pairs_); }

  private:
    Bytes pairs_;
    int64_t num_items_ = 0;
};

// Items [first, last) of a chunk, which become the items from `position` on in the output.
struct Piece {
    int64_t chunk;
    int64_t first;
    int64_t last;
    int64_t num_items;  // of the chunk
    int64_t position;

    int64_t size() const { return last - first; }
    bool whole() const { return first == 0 && last == num_items; }
};

template <class Visit>
void for_each_piece(const ChunkTable& table, const Ranges& ranges, Visit visit) {
    const std::vector<int64_t>& starts = table.item_starts();
    int64_t chunk = 0;
    int64_t position = 0;
    for (int64_t i = 0; i < ranges.size(); ++i) {
        int64_t item = ranges.start(i);
        const int64_t end = ranges.end(i);
        if (item == end) continue;
        chunk = table.chunk_of(item, chunk);
        for (;;) {
            const int64_t begin = starts[chunk];
            const int64_t stop = std::min(end, starts[chunk + 1]);
            visit(Piece{chunk, item - begin, stop - begin, starts[chunk + 1] - begin, position});
            position += stop - item;
            item = stop;
            if (item == end) break;
            ++chunk;
        }
    }
}

}  // namespace lance
