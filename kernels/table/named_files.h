// Collects the files that the fragments of versions name. Neighboring versions have most fragments in common: each
// fragment is read once.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "system/bytes.h"

namespace lance {

enum class NamedKind : int { kData = 0, kDeletions = 1, kExternal = 2 };

struct NamedFile {
    NamedKind kind;
    std::optional<uint32_t> base_id;
    std::string name;  // ASCII
};

struct NamedFiles {
    std::vector<NamedFile> files;
    std::vector<int64_t> left;  // indices of fragments left to the caller: unusual or damaged ones
};

// Thread-safe.
class FragmentNames {
  public:
    // Files of the fragments that were not given before; fragments: as in `fragment_table`.
    NamedFiles add(Bytes fragments);

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::mutex mutex_;
    std::unordered_set<std::string, Hash, std::equal_to<>> seen_;
};

}  // namespace lance
