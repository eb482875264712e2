// Pages of values inside lists and structs: levels hold the structure around each value, and another reader reads the
// values.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "layouts/unravel.h"

namespace lance {

class NestedReader : public PageReader {
  public:
    // layers: from the inside, the first is that of the values
    // are_null: no value exists, whatever the reader of values returns
    // values: outlives this object; reports which values are NULL if the first layer has no levels
    // tested: outlives this object; tests which rows are NULL, if values are not inside of lists
    NestedReader(const PageReader& values, std::vector<NestedLayer> layers, std::unique_ptr<const LevelSource> levels,
                 int64_t num_rows, bool are_null, const PageReader* tested = nullptr);

    const NestedReader* nested() const override { return this; }
    const PageReader& values() const { return values_; }
    const std::vector<NestedLayer>& layers() const { return layers_; }
    bool are_null() const { return are_null_; }
    std::vector<Entries> entries(const PageBytes& bytes, const Ranges& rows) const {
        return levels_->select(bytes, rows);
    }

    ColumnFormat format() const override { return values_.format(); }
    int64_t num_rows() const override { return num_rows_; }
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override { return levels_->bytes_of(rows); }
    void require_bytes(const PageBytes&, int64_t) const override {}
    void read(const PageBytes&, const Ranges&, ColumnBuilder&) const override { refuse(); }
    void mask(const PageBytes& bytes, const Ranges& rows, const PageTest& test, MutableBytes flags) const override {
        if (tested_ == nullptr || !std::holds_alternative<ValidityTest>(test)) refuse();
        tested_->mask(bytes, rows, test, flags);
    }
    void take(const PageBytes&, const Ranges&, const PassedRows&, ColumnBuilder&) const override { refuse(); }

  private:
    [[noreturn]] static void refuse() { fail("what is inside of lists or structs is no column of values"); }

    const PageReader& values_;
    std::vector<NestedLayer> layers_;
    std::unique_ptr<const LevelSource> levels_;
    int64_t num_rows_;
    bool are_null_;
    const PageReader* tested_;
};

// The rows of pages with the same layers as one array, in which each layer has one child.
// flags: a byte for each row, 1 for wanted ones; number: of the current part, for failures
ArrowArray read_nested(const std::vector<PagePart>& parts, std::optional<Bytes> flags, size_t& number);

}  // namespace lance
