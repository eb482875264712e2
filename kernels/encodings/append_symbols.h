// Appends FSST values to those of a column, in memory that grows.
#pragma once

#include <algorithm>
#include <atomic>

#include "arrow/column_builder.h"
#include "encodings/decode.h"
#include "encodings/variable.h"

namespace lance {

// Room for a batch of codes, relative to the need of the previous batch, and additional bytes.
constexpr double kSymbolHeadroom = 1.1;
constexpr int64_t kSymbolSlack = 64 * 1024;
constexpr int64_t kMostExpansion = 8;

// Calls decode(row, offsets, bytes) until all `count` values are decoded. It starts at a value, returns the next
// position, and is called again with more room after the written bytes.
// num_codes: bytes of codes; expansion: decoded bytes per code byte at the last read of the page
template <class Decode>
void append_symbols(int64_t count, int64_t num_codes, std::atomic<double>& expansion, ColumnBuilder& out,
                    Decode decode) {
    const MutableBytes offsets = out.offsets(count);
    const int64_t most = multiply(num_codes, kMostExpansion) + 2 * kMostExpansion;
    const double guess = static_cast<double>(num_codes) * expansion.load(std::memory_order_relaxed) * kSymbolHeadroom;
    int64_t room = std::min(most, static_cast<int64_t>(guess) + kSymbolSlack);
    int64_t row = 0;
    int64_t size = 0;
    for (;;) {
        // Decoded bytes are counted, so that they move when the buffer grows.
        out.add_bytes(size);
        const MutableBytes rest = out.bytes(room - size);
        out.add_bytes(-size);
        const MutableBytes all(rest.data() - size, rest.size() + static_cast<size_t>(size));
        const FsstProgress done = decode(row, offsets, all);
        row = done.num_rows;
        size = done.num_bytes;
        if (row == count) break;
        if (room >= most) fail("FSST codes stand for more bytes than they can");
        room = std::min(most, std::max(2 * room, size * count / std::max<int64_t>(row, 1)) + kSymbolSlack);
    }
    if (num_codes > 0) {
        expansion.store(static_cast<double>(size) / static_cast<double>(num_codes), std::memory_order_relaxed);
    }
    raise_offsets(out.format().bits, offsets, count, out.num_bytes(), size);
    out.add_bytes(size);
}

}  // namespace lance
