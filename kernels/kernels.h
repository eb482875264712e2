// The kernels, as module.cpp binds them; lance_sql/_kernels.pyi says what each does.
#pragma once

#include "chunks.h"

namespace lance {

void flat(const Chunks& chunks, const Ranges& ranges, int64_t buffer_index, int64_t bits_per_value,
          MutableBytes out);

}  // namespace lance
