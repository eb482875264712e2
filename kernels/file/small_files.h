// Reads whole columns of many small data files, or many columns of one, in one call: parsed and passed to the page
// readers without Python.
//
// Only simple files are read. The caller handles all others, file by file: other file versions, several pages, unknown
// page encodings, missing or damaged files. No error is reported here.
#pragma once

#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "arrow/held_arrays.h"
#include "layouts/mini_block_reader.h"

namespace lance {

// Larger files are left to the caller.
inline constexpr int64_t kSmallFileBytes = 64 * 1024;

// A page of one value, or of NULLs alone, whose description holds all of it.
struct ConstantPage {
    std::optional<std::string> value;  // none: all are NULL
};

// A mini-block page of values that are NULL or not, without any nesting.
struct FlatPage {
    ChunkShape shape;
    int64_t num_items;
    ValueCodec codec;  // of values that need nothing but the chunks
    int64_t bits;      // of a value, a word or an offset
    std::optional<LevelEncoding> definition;
};

// The pages that can be decoded, by the bytes that describe them; nothing for those that are known to be others.
// Thread-safe.
class FlatPages {
  public:
    using Page = std::variant<std::monostate, FlatPage, ConstantPage>;

    void add(std::string encoding, Page page);
    // False if nothing is known.
    bool find(Bytes encoding, Page& page) const;

  private:
    // Writers describe pages in few ways; beyond this all is learnt anew.
    static constexpr size_t kMostPages = 1 << 16;

    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    mutable std::shared_mutex mutex_;
    std::unordered_map<std::string, Page, Hash, std::equal_to<>> pages_;
};

struct SmallFiles {
    std::vector<bool> read;
    std::unordered_set<std::string> unknown;  // encodings
    HeldArrays columns;                       // the rows of all files that were read, one after the other
};

// Reads columns of local files.
//
// num_rows: that each file must have
// column_indices: of every column in the first file, then in the second, ...
SmallFiles read_small_files(const FlatPages& pages, const std::vector<std::string>& paths, Bytes num_rows,
                            const std::vector<ColumnFormat>& formats, Bytes column_indices);

struct ManyColumns {
    std::unordered_set<std::string> unknown;  // encodings
    HeldArrays columns;                       // without a `release` where they are left to the caller
};

// Reads columns of one file separately; returns nothing for those left to the caller.
//
// file: all of its bytes
// num_rows: that it must have; otherwise every column is left to the caller
// column_indices: one for each format
ManyColumns read_many_columns(const FlatPages& pages, Bytes file, int64_t num_rows,
                              const std::vector<ColumnFormat>& formats, Bytes column_indices);

}  // namespace lance
