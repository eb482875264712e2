// Symbol tables of FSST as the bytes that files store, and back.
#include "encodings/fsst_symbols.h"

#include <algorithm>

namespace lance {

namespace {

constexpr uint64_t kMagic = uint64_t{0x46535354} << 32;
constexpr uint64_t kInUse = uint64_t{1} << 24;

}  // namespace

void write_symbols(const Matcher& matcher, MutableBytes out) {
    const std::vector<Symbol>& symbols = matcher.symbols();
    std::fill(out.begin(), out.end(), uint8_t{0});
    store(out.data(), kMagic | kInUse | symbols.size());
    for (size_t i = 0; i < symbols.size(); ++i) {
        store(out.data() + 8 + 8 * i, symbols[i].bytes);
        out[8 + 8 * symbols.size() + i] = static_cast<uint8_t>(symbols[i].length);
    }
}

Matcher read_symbols(Bytes table) {
    require_input(table, kSymbolTableBytes, "the symbol table");
    const uint64_t header = load<uint64_t>(table.data());
    const size_t num_symbols = header & 0xFF;
    Matcher matcher;
    for (size_t i = 0; i < num_symbols; ++i) {
        const int length = table[8 + 8 * num_symbols + i];
        if (length < 1 || length > 8) fail("symbol ", i, " of ", length, " bytes");
        Symbol symbol{load<uint64_t>(table.data() + 8 + 8 * i), length};
        symbol.bytes &= symbol.mask();
        if (!matcher.add(symbol)) fail("symbol ", i, " has the hash of too many others");
    }
    return matcher;
}

}  // namespace lance
