// All chunks that the rows of a call touch are decompressed into one buffer.
#include "layouts/compressed_chunks.h"

#include <algorithm>

namespace lance {

namespace {

Chunks chunks_of(const ChunkTable& table, const PageBytes& bytes) {
    if (bytes.extents) return Chunks(table, bytes.data, bytes.start, *bytes.extents);
    return Chunks(table, bytes.data, bytes.start);
}

// The rows in chunks that hold a row with a flag.
class FlaggedChunks {
  public:
    FlaggedChunks(const ChunkTable& table, const Ranges& rows, Bytes flags) {
        for_each_piece(table, rows, [&](const Piece& piece) {
            const auto begin = flags.begin() + piece.position;
            if (std::find_if(begin, begin + piece.size(), [](uint8_t flag) { return flag != 0; }) ==
                begin + piece.size()) {
                return;
            }
            const int64_t first = table.item_starts()[static_cast<size_t>(piece.chunk)] + piece.first;
            pairs_.insert(pairs_.end(), {first, first + piece.size()});
            positions_.push_back(piece.position);
            num_rows_ += piece.size();
        });
    }

    int64_t num_rows() const { return num_rows_; }
    Ranges rows(int64_t num_items) const { return Ranges(as_bytes(pairs_), num_items); }

    std::vector<uint8_t> flags(Bytes of_all) const {
        std::vector<uint8_t> of_chunks(static_cast<size_t>(num_rows_));
        uint8_t* to = of_chunks.data();
        for (size_t i = 0; i < positions_.size(); ++i) {
            copy(to, of_all.data() + positions_[i], size(i));
            to += size(i);
        }
        return of_chunks;
    }

    void put_back(const std::vector<uint8_t>& flags, MutableBytes of_all) const {
        const uint8_t* from = flags.data();
        for (size_t i = 0; i < positions_.size(); ++i) {
            copy(of_all.data() + positions_[i], from, size(i));
            from += size(i);
        }
    }

  private:
    int64_t size(size_t i) const { return pairs_[2 * i + 1] - pairs_[2 * i]; }

    std::vector<int64_t> pairs_;
    std::vector<int64_t> positions_;
    int64_t num_rows_ = 0;
};

}  // namespace

DecompressedChunks::DecompressedChunks(const Chunks& chunks, Compression compression, const Ranges& rows) {
    chunks.require_buffer_index(0);
    std::vector<std::pair<int64_t, int64_t>> sizes;  // of each touched chunk, as it claims
    int64_t total = 0;
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        if (!sizes.empty() && sizes.back().first == piece.chunk) return;
        try {
            const int64_t size = decompressed_size(compression, chunks.values(piece.chunk, 0));
            sizes.push_back({piece.chunk, size});
            total += size;
        } catch (const std::invalid_argument& error) {
            fail("chunk ", piece.chunk, ": ", error.what());
        }
    });
    if (sizes.empty()) return;
    first_chunk_ = sizes.front().first;
    data_ = PooledBuffer(std::min(total, kTrustedBytes));
    for (const auto& [chunk, size] : sizes) {
        offsets_.resize(static_cast<size_t>(chunk - first_chunk_) + 1, offsets_.back());
        const int64_t at = offsets_.back();
        if (at + size > data_.capacity()) data_.grow(std::max(at + size, std::min(total, 2 * data_.capacity())), at);
        try {
            decompress(compression, chunks.values(chunk, 0), {data_.data() + at, static_cast<size_t>(size)});
        } catch (const std::invalid_argument& error) {
            fail("chunk ", chunk, ": ", error.what());
        }
        offsets_.push_back(at + size);
    }
}

// The bytes of a page for its reader without compression.
class CompressedChunksReader::Plain {
  public:
    Plain(const CompressedChunksReader& page, const PageBytes& bytes, const Ranges& rows)
        : chunks_(chunks_of(page.table_, bytes), page.compression_, rows), bytes_(bytes) {
        bytes_.replaced = chunks_.buffers();
        page.plain_->require_bytes(bytes_, rows.num_items());
    }
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;

    operator const PageBytes&() const { return bytes_; }

  private:
    DecompressedChunks chunks_;
    PageBytes bytes_;
};

CompressedChunksReader::CompressedChunksReader(const ChunkTable& table, Compression compression,
                                               std::unique_ptr<PageReader> plain)
    : table_(table), compression_(compression), plain_(std::move(plain)) {
    if (table.num_items() != plain_->num_rows()) fail("a page of ", plain_->num_rows(), " rows in other chunks");
}

void CompressedChunksReader::require_bytes(const PageBytes& bytes, int64_t num_rows) const {
    const auto most = static_cast<size_t>(most_decompressed(compression_, size_of(bytes.data)));
    // only counted
    const PageBytes claimed{Bytes(bytes.data.data(), most), bytes.start, std::nullopt};
    plain_->require_bytes(claimed, num_rows);
}

void CompressedChunksReader::read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const {
    plain_->read(Plain(*this, bytes, rows), rows, out);
}

void CompressedChunksReader::mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test,
                                  MutableBytes flags) const {
    require_output(flags, rows.num_items(), "flags");
    if (std::holds_alternative<ValidityTest>(test)) {
        plain_->mask(bytes, rows, test, flags);  // levels are not compressed
        return;
    }
    const FlaggedChunks left(table_, rows, flags);
    if (left.num_rows() == rows.num_items()) {
        plain_->mask(Plain(*this, bytes, rows), rows, test, flags);
    } else if (left.num_rows() > 0) {
        const Ranges some = left.rows(table_.num_items());
        std::vector<uint8_t> of_some = left.flags(flags);
        plain_->mask(Plain(*this, bytes, some), some, test, of_some);
        left.put_back(of_some, flags);
    }
}

void CompressedChunksReader::take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed,
                                  ColumnBuilder& out) const {
    require_input(passed.flags(), rows.num_items(), "flags");
    if (passed.count() == 0) return;
    const FlaggedChunks left(table_, rows, passed.flags());
    if (left.num_rows() == rows.num_items()) {
        plain_->take(Plain(*this, bytes, rows), rows, passed, out);
        return;
    }
    const Ranges some = left.rows(table_.num_items());
    const std::vector<uint8_t> of_some = left.flags(passed.flags());
    plain_->take(Plain(*this, bytes, some), some, PassedRows(of_some, passed.count()), out);
}

// Buffers decompressed for the test are reused for the values.
bool CompressedChunksReader::filters_at_once(const PageTest& test) const {
    return !std::holds_alternative<ValidityTest>(test);
}

void CompressedChunksReader::filter(const PageBytes& bytes, const Ranges& rows, const PageTest& test,
                                    MutableBytes flags, ColumnBuilder& out) const {
    plain_->filter(Plain(*this, bytes, rows), rows, test, flags, out);
}

void CompressedChunksReader::observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row,
                                     ZoneObserver& out) const {
    plain_->observe(Plain(*this, bytes, rows), rows, first_row, out);
}

void CompressedChunksReader::mask_observed(const PageBytes& bytes, const Ranges& rows, const PageTest& test,
                                           MutableBytes flags, int64_t first_row, ZoneObserver& out) const {
    plain_->mask_observed(Plain(*this, bytes, rows), rows, test, flags, first_row, out);
}

}  // namespace lance
