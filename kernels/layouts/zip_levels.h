// The levels of full-zip pages, between their values.
#pragma once

#include <optional>
#include <vector>

#include "layouts/level_source.h"
#include "layouts/zip.h"

namespace lance {

// The items of rows are ranges of bytes of the page: see ZipComposites.
class ZipLevels : public LevelSource {
  public:
    // row_starts: the start of each row in the page, and the end of the last; none if all rows have one width
    ZipLevels(EntryRules rules, ZipShape shape, std::optional<std::vector<int64_t>> row_starts);
    std::pair<int64_t, int64_t> bytes_of(const Ranges& rows) const override;
    std::vector<Entries> select(const PageBytes& bytes, const Ranges& rows) const override;

  private:
    int64_t start_of(int64_t row) const;
    void require_start(int64_t row, int64_t position) const;

    EntryRules rules_;
    ZipShape shape_;
    std::optional<std::vector<int64_t>> row_starts_;
};

}  // namespace lance
