// The kernel that stores JSON, bound by bind/jsonb.cpp; documented in lance_sql/_kernels.pyi.
#pragma once

#include <string>

#include "system/bytes.h"

namespace lance {

// Index of the first text that cannot be stored, and the reason; -1 if there is none.
struct JsonFault {
    int64_t index;
    std::string reason;
};

// Texts -> stored values: text i is data[offsets[i] : offsets[i + 1]], skipped where valid[i] is 0.
// offsets: int64[n + 1]; valid: n bytes; out_offsets: int64[n + 1]; out: kJsonGrowth bytes for each of a text, and
// kJsonScalar for each text
JsonFault jsonb_from_text(Bytes offsets, Bytes data, Bytes valid, MutableBytes out_offsets, MutableBytes out);

constexpr int64_t kJsonGrowth = 4;
constexpr int64_t kJsonScalar = 24;

}  // namespace lance
