// The fragments of a manifest as columns.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// Form of a stored sequence of row ids or row versions.
enum class SequenceForm : int { kNone = 0, kInline = 1, kExternal = 2, kHiddenColumn = 3 };

// Columns of a fragment table, in order; documented in lance_sql/_kernels.pyi.
enum FragmentColumn : int {
    kStart,
    kSize,
    kId,
    kPhysicalRows,
    kNumFiles,
    kSizeBytes,
    kHasDeletions,
    kNumDeletedRows,
    kNumOverlays,
    kRowIdsForm,
    kRowIdsLeast,
    kRowIdsGreatest,
    kCreatedAtForm,
    kCreatedAtLeast,
    kCreatedAtGreatest,
    kLastUpdatedAtForm,
    kLastUpdatedAtLeast,
    kLastUpdatedAtGreatest,
    kHasLegacyFiles,
};

inline constexpr int kNumFragmentColumns = kHasLegacyFiles + 1;

// Splits a Manifest message: its fragments, as they are stored and back to back, and everything else.
struct SplitManifest {
    std::vector<uint8_t> fragments;
    std::vector<uint8_t> rest;
};

SplitManifest split_manifest(Bytes manifest);

// One row for each fragment, kNumFragmentColumns wide. Without `bounds`, which walks all segments of sequences, the
// bounds are open.
std::vector<int64_t> fragment_table(Bytes fragments, bool with_bounds);

}  // namespace lance
