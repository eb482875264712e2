// Repetition and definition levels to the offsets and validity of Arrow, one layer at a time, inside out.
#include <algorithm>
#include <bit>

#include "encodings/decode.h"
#include "encodings/level_bits.h"
#include "layouts/entries.h"

namespace lance {

namespace {

// Entries are counted in u16 for as long as that holds: vectors stay as narrow as the levels.
constexpr int64_t kBlock = 4096;

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
    LayerSize size;
    if (num_entries == 0) return size;
    bool stray = load<uint16_t>(rep) == 0;
    size.num_kept = 1;
    size.num_slots = !HasDef || load<uint16_t>(def) <= layer.max_slot_level;
    for (int64_t first = 1; first < num_entries; first += kBlock) {
        const int64_t last = std::min(first + kBlock, num_entries);
        uint16_t entries = 0;
        uint16_t slots = 0;
        uint16_t strays = 0;
        for (int64_t i = first; i < last; ++i) {
            const uint16_t begins = load<uint16_t>(rep + 2 * i) != 0;
            entries += begins;
            if constexpr (HasDef) {
                const uint16_t d = load<uint16_t>(def + 2 * i);
                const uint16_t before = load<uint16_t>(def + 2 * i - 2);
                slots += begins & (d <= layer.max_slot_level);
                strays |= (begins ^ 1) & (std::max(d, before) > layer.base);
            }
        }
        size.num_kept += entries;
        size.num_slots += HasDef ? slots : entries;
        stray |= strays != 0;
    }
    if (stray) fail("an entry continues a list that has no elements");
    return size;
}

template <bool HasDef, class Offset>
void compact(const uint8_t* rep, const uint8_t* def, int64_t num_entries, ListLayer layer, uint8_t* out_offsets,
             uint8_t* out_rep, uint8_t* out_def) {
    int64_t slot = 0;
    int64_t entry = 0;
    int64_t child = 0;
    // Each entry is stored in the next slot, and the slot advances only if the entry is kept: there is no branch to
    // mispredict. `entry` is at most i, so the levels may be written over themselves.
    for (int64_t i = 0; i < num_entries; ++i) {
        const uint16_t r = load<uint16_t>(rep + 2 * i);
        const uint16_t d = HasDef ? load<uint16_t>(def + 2 * i) : 0;
        store<Offset>(out_offsets + slot * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(child));
        store<uint16_t>(out_rep + 2 * entry, static_cast<uint16_t>(r - 1));
        if constexpr (HasDef) store<uint16_t>(out_def + 2 * entry, d);
        const bool begins = r != 0;
        slot += begins & (!HasDef || d <= layer.max_slot_level);
        entry += begins;
        child += !HasDef || d <= layer.base;
    }
    store<Offset>(out_offsets + slot * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(child));
}

// The bits of `values` at which `slots` has ones, next to each other.
uint64_t compact_bits(uint64_t values, uint64_t slots, int64_t num_entries) {
    uint64_t holes = ~slots & low_bits(num_entries);
    if (2 * count_ones(holes) <= num_entries) {
        while (holes != 0) {  // from above, so that the holes below stay in place
            const uint64_t below = (uint64_t{1} << (63 - std::countl_zero(holes))) - 1;
            values = (values & below) | (values >> 1 & ~below);
            holes &= below;
        }
        return values;
    }
    uint64_t packed = 0;
    for (int64_t count = 0; slots != 0; slots &= slots - 1, ++count) {
        packed |= (values >> std::countr_zero(slots) & 1) << count;
    }
    return packed;
}

// Appends the bits of `values` at which `slots` has ones; counts both.
struct SlotWriter {
    BitWriter out;
    int64_t num_slots = 0;
    int64_t num_valid = 0;

    void append(uint64_t values, uint64_t slots, int64_t num_entries) {
        const int64_t count = count_ones(slots);
        if (count == 0) return;
        const uint64_t bits = count == num_entries ? values : compact_bits(values & slots, slots, num_entries);
        out.append(bits, count);
        num_slots += count;
        num_valid += count_ones(bits);
    }
};

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
    const LayerSize size =
        def ? measure<true>(rep.data(), d, num_entries, layer) : measure<false>(rep.data(), d, num_entries, layer);
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
    SlotWriter slots{BitWriter(*out_validity)};
    for (int64_t i = 0; i < size.num_kept; i += 64) {
        const int64_t count = std::min<int64_t>(64, size.num_kept - i);
        if (!def) {
            slots.append(low_bits(count), low_bits(count), count);
            continue;
        }
        const uint8_t* levels = kept_def + 2 * i;
        const uint64_t valid = test_levels(levels, count, AtMostOrEqual{layer.base, layer.empty_level});
        slots.append(valid, test_levels(levels, count, AtMost{layer.max_slot_level}), count);
    }
    slots.out.finish();
    return {size.num_slots, size.num_kept, slots.num_valid};
}

ItemLayerResult item_layer(Bytes def, int64_t num_entries, int64_t max_slot_level, int64_t base, MutableBytes out) {
    require_levels(def, num_entries, "def");
    const uint16_t slot_limit = level(max_slot_level);
    const uint16_t valid_limit = level(base);
    SlotWriter slots{BitWriter(out)};
    for (int64_t i = 0; i < num_entries; i += 64) {
        const int64_t count = std::min<int64_t>(64, num_entries - i);
        const uint8_t* levels = def.data() + 2 * i;
        const uint64_t valid = test_levels(levels, count, AtMost{valid_limit});
        slots.append(valid, test_levels(levels, count, AtMost{slot_limit}), count);
    }
    slots.out.finish();
    return {slots.num_slots, slots.num_valid};
}

namespace {

// The first entry of row number `row`, or the end if there are exactly that many rows.
int64_t find_row(const uint8_t* rep, int64_t num_entries, uint16_t max_rep, int64_t row) {
    int64_t entry = 0;
    for (; entry + kBlock <= num_entries; entry += kBlock) {
        uint16_t count = 0;
        for (int64_t i = 0; i < kBlock; ++i) count += load<uint16_t>(rep + 2 * (entry + i)) == max_rep;
        if (count > row) break;
        row -= count;
    }
    for (; entry < num_entries; ++entry) {
        if (load<uint16_t>(rep + 2 * entry) == max_rep && row-- == 0) return entry;
    }
    if (row == 0) return num_entries;
    fail("levels hold ", row, " rows less than asked for");
}

int64_t count_at_most(const uint8_t* def, int64_t first, int64_t last, uint16_t max_visible) {
    int64_t total = 0;
    for (; first < last; first += kBlock) {
        const int64_t end = std::min(first + kBlock, last);
        uint16_t count = 0;
        for (int64_t i = first; i < end; ++i) count += load<uint16_t>(def + 2 * i) <= max_visible;
        total += count;
    }
    return total;
}

}  // namespace

RowSelection select_rows(Bytes rep, std::optional<Bytes> def, int64_t num_entries, int64_t max_rep, int64_t max_visible,
                         int64_t skip_rows, int64_t num_rows) {
    require_levels(rep, num_entries, "rep");
    if (def) require_levels(*def, num_entries, "def");
    const int64_t start = find_row(rep.data(), num_entries, level(max_rep), skip_rows);
    const int64_t end = start + find_row(rep.data() + 2 * start, num_entries - start, level(max_rep), num_rows);
    if (!def) return {start, end, start, end - start};
    const uint16_t visible = level(std::min<int64_t>(max_visible, UINT16_MAX));
    return {start, end, count_at_most(def->data(), 0, start, visible), count_at_most(def->data(), start, end, visible)};
}

}  // namespace lance
