// The repetition and definition levels of rows, wherever a page keeps them, and the items that belong to them.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "encodings/chunks.h"
#include "encodings/levels.h"
#include "layouts/page_reader.h"
#include "system/buffers.h"

namespace lance {

// The levels of the entries of some rows, u16 each.
struct Entries {
    int64_t num_entries = 0;
    std::optional<MutableBytes> rep;                  // empty without lists
    std::optional<MutableBytes> def;                  // nothing if all are zero
    std::vector<int64_t> items;                       // the ranges of their values, as pairs
    std::optional<int64_t> num_items = std::nullopt;  // of the values, if the ranges are not of their numbers
    PooledBuffer held_rep;
    PooledBuffer held_def;
};

// Meaning of entries.
struct EntryRules {
    int64_t max_rep;      // begins a row; 0 without lists
    int64_t max_visible;  // the largest definition level that owns an item
};

class LevelSource {
  public:
    virtual ~LevelSource() = default;
    // The bytes that hold the rows, among those of the page.
    virtual std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const = 0;
    // The entries of the rows, in order, in as many parts as is convenient.
    virtual std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const = 0;
};

// No levels: every row is a value.
class NoLevels : public LevelSource {
  public:
    explicit NoLevels(const PageReader& values) : values_(values) {}
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override { return values_.bytes_of(rows); }
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    const PageReader& values_;
};

// In the chunks of a mini-block page.
class ChunkLevels : public LevelSource {
  public:
    // starts_through, ends_through: int64, how many rows start and end in the chunks up to each; only with lists
    ChunkLevels(const ChunkTable& table, EntryRules rules, std::optional<LevelEncoding> rep,
                std::optional<LevelEncoding> def, Bytes starts_through, Bytes ends_through);
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    int64_t first_chunk(int64_t row) const;
    int64_t end_chunk(int64_t end_row) const;
    int64_t rows_before(int64_t chunk) const {
        return chunk == 0 ? 0 : starts_through_[static_cast<size_t>(chunk) - 1];
    }
    Entries flat_entries(const Chunks& chunks, const Ranges& rows) const;
    Entries decode(const Chunks& chunks, int64_t first, int64_t end) const;
    void choose(Entries& entries, int64_t first, int64_t end, const std::vector<int64_t>& pairs) const;
    void choose_one(Entries& entries, int64_t first_item, int64_t skip, int64_t num_rows) const;

    const ChunkTable& table_;
    EntryRules rules_;
    std::optional<LevelEncoding> rep_;
    std::optional<LevelEncoding> def_;
    std::vector<int64_t> starts_through_;
    std::vector<int64_t> ends_through_;
};

// In memory, for all rows of a page that has one value: its items are counted only.
class StoredLevels : public LevelSource {
  public:
    // u16 for each entry; they outlive this object
    StoredLevels(EntryRules rules, int64_t num_rows, std::optional<Bytes> rep, std::optional<Bytes> def);
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    EntryRules rules_;
    std::optional<Bytes> rep_;
    std::optional<Bytes> def_;
    std::vector<int64_t> row_starts_;  // with lists
};

// One definition level of all rows, without lists.
class SameLevels : public LevelSource {
  public:
    SameLevels(EntryRules rules, uint16_t def) : rules_(rules), def_(def) {}
    std::pair<int64_t, int64_t> bytes_of(const Ranges&) const override { return {0, 0}; }
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    EntryRules rules_;
    uint16_t def_;
};

// Rows of several entries each, all of which are rows of another source: items of fixed-size lists.
class LevelsOfItems : public LevelSource {
  public:
    LevelsOfItems(std::unique_ptr<const LevelSource> items, int64_t items_per_row, int64_t num_rows)
        : items_(std::move(items)), items_per_row_(items_per_row), num_rows_(num_rows) {}
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    std::vector<int64_t> items_of(const Ranges& rows) const;

    std::unique_ptr<const LevelSource> items_;
    int64_t items_per_row_;
    int64_t num_rows_;
};

}  // namespace lance
