// Repetition and definition levels to the offsets and validity of Arrow, one layer at a time, inside out.
#include <algorithm>

#include "bits.h"
#include "kernels.h"

namespace lance {

namespace {

void require_levels(Bytes levels, int64_t num_entries, const char* name) {
    require_input(levels, 2 * num_entries, name);
}

uint16_t level(int64_t value) {
    if (value > UINT16_MAX) fail("level ", value, " is not a u16");
    return static_cast<uint16_t>(value);
}

struct LayerSize {
    int64_t num_slots = 0;
    int64_t num_kept = 0;
};

// Counts the entries that begin a list, with and without those that an outer null or empty list hides.
//
// An entry that begins none is a further element: of a list with elements, so the entry before owns one as well.
template <bool HasDef>
LayerSize measure(const uint8_t* rep, const uint8_t* def, int64_t num_entries, ListLayer layer) {
    constexpr int64_t block = 16384;  // counted in u16, which keeps the vectors narrow
    LayerSize size;
    if (num_entries == 0) return size;
    bool stray = load<uint16_t>(rep) == 0;
    size.num_kept = 1;
    size.num_slots = !HasDef || load<uint16_t>(def) <= layer.max_slot_level;
    for (int64_t first = 1; first < num_entries; first += block) {
        const int64_t last = std::min(first + block, num_entries);
        uint16_t kept = 0;
        uint16_t slots = 0;
        uint16_t strays = 0;
        for (int64_t i = first; i < last; ++i) {
            const uint16_t begins = load<uint16_t>(rep + 2 * i) != 0;
            kept += begins;
            if constexpr (HasDef) {
                const uint16_t d = load<uint16_t>(def + 2 * i);
                const uint16_t before = load<uint16_t>(def + 2 * i - 2);
                slots += begins & (d <= layer.max_slot_level);
                strays |= (begins ^ 1) & (std::max(d, before) > layer.base);
            }
        }
        size.num_kept += kept;
        size.num_slots += HasDef ? slots : kept;
        stray |= strays != 0;
    }
    if (stray) fail("an entry continues a list that has no elements");
    return size;
}

template <bool HasDef, class Offset>
void compact(const uint8_t* rep, const uint8_t* def, int64_t num_entries, ListLayer layer, uint8_t* out_offsets,
             uint8_t* out_rep, uint8_t* out_def) {
    int64_t slot = 0;
    int64_t kept = 0;
    int64_t child = 0;
    // Each entry is stored where the next kept one belongs, and stays there only if it is kept itself: there is no
    // branch to mispredict. `kept` is at most i, so the levels may be written over themselves.
    for (int64_t i = 0; i < num_entries; ++i) {
        const uint16_t r = load<uint16_t>(rep + 2 * i);
        const uint16_t d = HasDef ? load<uint16_t>(def + 2 * i) : 0;
        store<Offset>(out_offsets + slot * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(child));
        store<uint16_t>(out_rep + 2 * kept, static_cast<uint16_t>(r - 1));
        if constexpr (HasDef) store<uint16_t>(out_def + 2 * kept, d);
        const bool begins = r != 0;
        slot += begins & (!HasDef || d <= layer.max_slot_level);
        kept += begins;
        child += !HasDef || d <= layer.base;
    }
    store<Offset>(out_offsets + slot * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(child));
}

// Flags of up to 64 entries as bits.
template <class Test>
uint64_t test_entries(const uint8_t* levels, int64_t num_entries, Test test) {
    alignas(64) uint8_t flags[64] = {};
    for (int64_t i = 0; i < num_entries; ++i) flags[i] = test(load<uint16_t>(levels + 2 * i));
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= gather_low_bits(load<uint64_t>(flags + 8 * i)) << (8 * i);
    return bits;
}

// Appends the bits of `values` at which `slots` has ones.
void append_slots(BitWriter& out, uint64_t values, uint64_t slots, int64_t num_entries) {
    if (slots == low_bits(num_entries)) {
        out.append(values, num_entries);
        return;
    }
    uint64_t packed = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < num_entries; ++i) {
        packed |= (values >> i & slots >> i & 1) << count;
        count += static_cast<int64_t>(slots >> i & 1);
    }
    if (count > 0) out.append(packed, count);
}

}  // namespace

ListLayerResult list_layer(Bytes rep, std::optional<Bytes> def, int64_t num_entries, ListLayer layer,
                           MutableBytes out_offsets, int64_t out_offset_bits, std::optional<MutableBytes> out_validity,
                           MutableBytes out_rep, std::optional<MutableBytes> out_def) {
    require_levels(rep, num_entries, "rep");
    if (def) require_levels(*def, num_entries, "def");
    if (def && !out_def) fail("definition levels need an output");
    require_output(out_rep, 2 * num_entries, "out_rep");
    if (def) require_output(*out_def, 2 * num_entries, "out_def");

    const uint8_t* d = def ? def->data() : nullptr;
    const LayerSize size = def ? measure<true>(rep.data(), d, num_entries, layer)
                               : measure<false>(rep.data(), d, num_entries, layer);
    if (out_offset_bits != 32 && out_offset_bits != 64) fail("offsets of ", out_offset_bits, " bits, not 32 or 64");
    if (out_offset_bits == 32 && num_entries > INT32_MAX) fail(num_entries, " entries do not fit 32-bit offsets");
    require_output(out_offsets, (size.num_slots + 1) * (out_offset_bits / 8), "out_offsets");
    if (out_validity) require_output(*out_validity, bytes_for_bits(size.num_slots), "out_validity");

    uint8_t* kept_def = def ? out_def->data() : nullptr;
    const auto run = [&](auto offset) {
        using Offset = decltype(offset);
        if (def) {
            compact<true, Offset>(rep.data(), d, num_entries, layer, out_offsets.data(), out_rep.data(), kept_def);
        } else {
            compact<false, Offset>(rep.data(), d, num_entries, layer, out_offsets.data(), out_rep.data(), kept_def);
        }
    };
    out_offset_bits == 32 ? run(int32_t{}) : run(int64_t{});

    if (!out_validity) return {size.num_slots, size.num_kept, size.num_slots};
    BitWriter bits(*out_validity);
    for (int64_t i = 0; i < size.num_kept; i += 64) {
        const int64_t count = std::min<int64_t>(64, size.num_kept - i);
        if (!def) {
            bits.append(low_bits(count), count);
            continue;
        }
        const uint8_t* levels = kept_def + 2 * i;
        const uint64_t valid = test_entries(levels, count, [&](uint16_t v) {
            return static_cast<uint8_t>((v <= layer.base) | (v == layer.empty_level));
        });
        append_slots(bits, valid, levels_at_most(levels, count, layer.max_slot_level), count);
    }
    bits.finish();
    return {size.num_slots, size.num_kept, bits.num_ones()};
}

ItemLayerResult item_layer(Bytes def, int64_t num_entries, int64_t max_slot_level, int64_t base, MutableBytes out) {
    require_levels(def, num_entries, "def");
    const uint16_t slot_limit = level(max_slot_level);
    const uint16_t valid_limit = level(base);
    BitWriter bits(out);
    int64_t num_slots = 0;
    for (int64_t i = 0; i < num_entries; i += 64) {
        const int64_t count = std::min<int64_t>(64, num_entries - i);
        const uint8_t* levels = def.data() + 2 * i;
        const uint64_t slots = levels_at_most(levels, count, slot_limit);
        num_slots += count_ones(slots);
        append_slots(bits, levels_at_most(levels, count, valid_limit), slots, count);
    }
    bits.finish();
    return {num_slots, bits.num_ones()};
}

namespace {

// The entry where row number `row` begins, or the end if there are exactly as many rows.
int64_t find_row(const uint8_t* rep, int64_t num_entries, int64_t max_rep, int64_t row) {
    constexpr int64_t block = 1024;
    int64_t entry = 0;
    for (; entry + block <= num_entries; entry += block) {
        uint16_t count = 0;
        for (int64_t i = 0; i < block; ++i) count += load<uint16_t>(rep + 2 * (entry + i)) == max_rep;
        if (count > row) break;
        row -= count;
    }
    for (; entry < num_entries; ++entry) {
        if (load<uint16_t>(rep + 2 * entry) == max_rep && row-- == 0) return entry;
    }
    if (row == 0) return num_entries;
    fail("levels hold ", row, " rows less than asked for");
}

int64_t count_at_most(const uint8_t* def, int64_t first, int64_t last, int64_t max_visible) {
    int64_t count = 0;
    for (int64_t i = first; i < last; ++i) count += load<uint16_t>(def + 2 * i) <= max_visible;
    return count;
}

}  // namespace

RowSelection select_rows(Bytes rep, std::optional<Bytes> def, int64_t num_entries, int64_t max_rep, int64_t max_visible,
                         int64_t skip_rows, int64_t num_rows) {
    require_levels(rep, num_entries, "rep");
    if (def) require_levels(*def, num_entries, "def");
    const int64_t start = find_row(rep.data(), num_entries, level(max_rep), skip_rows);
    const int64_t end = start + find_row(rep.data() + 2 * start, num_entries - start, level(max_rep), num_rows);
    if (!def) return {start, end, start, end - start};
    return {start, end, count_at_most(def->data(), 0, start, max_visible),
            count_at_most(def->data(), start, end, max_visible)};
}

}  // namespace lance
