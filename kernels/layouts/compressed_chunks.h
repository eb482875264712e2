// Mini-block pages whose chunks are compressed: what chunks hold is decompressed once a call, for the reader of the
// same page without compression.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "encodings/compression.h"
#include "layouts/page_reader.h"
#include "system/buffers.h"

namespace lance {

// The first value buffers of the chunks that hold some rows, decompressed.
class DecompressedChunks {
  public:
    // rows: of the chunks that are touched; all of these are in memory
    DecompressedChunks(const Chunks& chunks, Compression compression, const Ranges& rows);

    ReplacedBuffers buffers() const {
        return {first_chunk_, {data_.data(), static_cast<size_t>(offsets_.back())}, as_bytes(offsets_)};
    }
    int64_t num_bytes() const { return offsets_.back(); }

  private:
    PooledBuffer data_;
    std::vector<int64_t> offsets_{0};
    int64_t first_chunk_ = 0;
};

class CompressedChunksReader : public PageReader {
  public:
    // plain: reads the chunks when their first buffers are replaced; table outlives this object
    CompressedChunksReader(const ChunkTable& table, Compression compression, std::unique_ptr<PageReader> plain);

    ColumnFormat format() const override { return plain_->format(); }
    int64_t num_rows() const override { return plain_->num_rows(); }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override { return plain_->bytes_of(rows); }
    std::vector<int64_t> scattered_bytes_of(const Ranges& rows) const override {
        return plain_->scattered_bytes_of(rows);
    }
    bool takes_extents() const override { return plain_->takes_extents(); }
    void require_bytes(const PageBytes& bytes, int64_t num_rows) const override;
    void read(const PageBytes& bytes, const Ranges& rows, ColumnBuilder& out) const override;
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override;
    void take(const PageBytes& bytes, const Ranges& rows, const PassedRows& passed, ColumnBuilder& out) const override;
    bool filters_at_once(const PageTest& test) const override;
    void filter(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                ColumnBuilder& out) const override;
    void observe(const PageBytes& bytes, const Ranges& rows, int64_t first_row, ZoneObserver& out) const override;
    void mask_observed(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags,
                       int64_t first_row, ZoneObserver& out) const override;

  private:
    class Plain;

    const ChunkTable& table_;
    Compression compression_;
    std::unique_ptr<PageReader> plain_;
};

}  // namespace lance
