// From the levels of entries to the slots of each layer.
#include "layouts/unravel.h"

#include <algorithm>
#include <utility>

#include "encodings/decode.h"
#include "encodings/level_bits.h"
#include "encodings/variable.h"
#include "layouts/entries.h"

namespace lance {

namespace {

// The levels of the layers [at, ...) up to the next list, which hide a slot of layer `at` when they are absent.
int64_t levels_up_to_list(const std::vector<NestedLayer>& layers, size_t at) {
    int64_t total = 0;
    for (; at < layers.size() && !layers[at].is_list(); ++at) total += layers[at].num_levels;
    return total;
}

PooledBuffer bitmap_for(int64_t num_slots) { return PooledBuffer(bytes_for_bits(num_slots)); }

MutableBytes all_of(PooledBuffer& buffer, int64_t num_bytes) { return {buffer.data(), static_cast<size_t>(num_bytes)}; }

NodeSlots item_slots(const Entries& entries, const std::vector<NestedLayer>& layers, size_t at, int64_t base) {
    NodeSlots slots;
    if (!entries.def) {
        slots.num_slots = entries.num_entries;
        return slots;
    }
    PooledBuffer validity = bitmap_for(entries.num_entries);
    const int64_t hidden_from = base + levels_up_to_list(layers, at);
    const ItemLayerResult sizes = item_layer(*entries.def, entries.num_entries, hidden_from, base,
                                             all_of(validity, bytes_for_bits(entries.num_entries)));
    slots.num_slots = sizes.num_slots;
    // without own levels, a slot is hidden or valid
    slots.num_null = layers[at].num_levels == 0 ? 0 : sizes.num_slots - sizes.num_valid;
    if (slots.num_null > 0) slots.validity = std::move(validity);
    return slots;
}

uint16_t to_level(int64_t level) {
    if (level > UINT16_MAX) fail("level ", level, " is not a u16");
    return static_cast<uint16_t>(level);
}

NodeSlots list_slots(Entries& entries, const std::vector<NestedLayer>& layers, size_t at, int64_t base) {
    if (!entries.rep) fail("lists without repetition levels");
    const NestedLayer& layer = layers[at];
    const int64_t after = base + layer.num_levels;
    const ListLayer rules{to_level(base), layer.has_empty ? to_level(after) : uint16_t{0},
                          to_level(after + levels_up_to_list(layers, at + 1))};
    NodeSlots slots;
    const int64_t num_bytes = multiply(entries.num_entries + 1, layer.offset_bits / 8);
    slots.offsets = PooledBuffer(num_bytes);
    slots.offset_bits = layer.offset_bits;
    PooledBuffer validity = bitmap_for(entries.num_entries);
    const ListLayerResult sizes =
        list_layer(*entries.rep, entries.def, entries.num_entries, rules, all_of(*slots.offsets, num_bytes),
                   layer.offset_bits, all_of(validity, bytes_for_bits(entries.num_entries)), *entries.rep, entries.def);
    entries.num_entries = sizes.num_kept;
    entries.rep = entries.rep->first(static_cast<size_t>(2 * sizes.num_kept));
    if (entries.def) entries.def = entries.def->first(static_cast<size_t>(2 * sizes.num_kept));
    slots.num_slots = sizes.num_slots;
    slots.num_null = sizes.num_slots - sizes.num_valid;
    if (slots.num_null > 0) slots.validity = std::move(validity);
    slots.offsets->shrink((slots.num_slots + 1) * (layer.offset_bits / 8));
    return slots;
}

int64_t end_of(const NodeSlots& lists, int64_t offset_bits) {
    return with_offset(offset_bits, [&](auto offset) {
        return static_cast<int64_t>(
            load<decltype(offset)>(lists.offsets->data() + lists.num_slots * static_cast<int64_t>(sizeof(offset))));
    });
}

void append_validity(const NodeSlots& slots, BitWriter& out) {
    if (slots.num_null > 0) {
        out.append(slots.validity.data(), 0, slots.num_slots);
        return;
    }
    for (int64_t left = slots.num_slots; left > 0; left -= 64) {
        const int64_t now = std::min<int64_t>(left, 64);
        out.append(low_bits(now), now);
    }
}

// Keeps the level of the first item of each fixed-size list.
void keep_first_items(Entries& entries, int64_t list_size) {
    if (list_size < 1 || entries.num_entries % list_size != 0) {
        fail(entries.num_entries, " levels of items for lists of ", list_size);
    }
    entries.num_entries /= list_size;
    if (!entries.def) return;
    uint8_t* levels = entries.def->data();
    for (int64_t i = 0; i < entries.num_entries; ++i) {
        store(levels + 2 * i, load<uint16_t>(levels + 2 * i * list_size));
    }
    entries.def = entries.def->first(static_cast<size_t>(2 * entries.num_entries));
}

}  // namespace

std::vector<NodeSlots> unravel(Entries& entries, const std::vector<NestedLayer>& layers, int64_t num_values) {
    std::vector<NodeSlots> slots;
    int64_t base = 0;
    for (size_t at = 0; at < layers.size(); ++at) {
        if (layers[at].list_size != 1) {
            const auto is_list = [](const NestedLayer& each) { return each.is_list(); };
            if (std::any_of(layers.begin() + static_cast<std::ptrdiff_t>(at), layers.end(), is_list)) {
                fail("fixed-size lists whose items have levels, inside lists");
            }
            keep_first_items(entries, layers[at].list_size);
        }
        slots.push_back(layers[at].is_list() ? list_slots(entries, layers, at, base)
                                             : item_slots(entries, layers, at, base));
        base += layers[at].num_levels;
        const int64_t inside = at == 0 ? num_values : slots[at - 1].num_slots;
        const int64_t wanted = layers[at].is_list() ? end_of(slots[at], layers[at].offset_bits)
                                                    : multiply(slots[at].num_slots, layers[at].list_size);
        if (wanted != inside) fail("layer ", at, " over ", wanted, " values, found ", inside);
    }
    return slots;
}

NodeSlots concatenate(std::vector<NodeSlots> parts, int64_t offset_bits) {
    if (parts.size() == 1) return std::move(parts[0]);
    NodeSlots all;
    for (const NodeSlots& part : parts) {
        all.num_slots += part.num_slots;
        all.num_null += part.num_null;
    }
    if (all.num_null > 0) {
        const int64_t num_bytes = bytes_for_bits(all.num_slots);
        all.validity = PooledBuffer(num_bytes);
        BitWriter bits(all_of(all.validity, num_bytes));
        for (const NodeSlots& part : parts) append_validity(part, bits);
        bits.finish();
    }
    if (offset_bits == 0) return all;
    const int64_t width = offset_bits / 8;
    all.offsets = PooledBuffer(multiply(all.num_slots + 1, width));
    all.offset_bits = offset_bits;
    uint8_t* to = all.offsets->data();
    std::memset(to, 0, static_cast<size_t>(width));
    int64_t before = 0;
    for (const NodeSlots& part : parts) {
        const int64_t num_bytes = (part.num_slots + 1) * width;
        copy(to, part.offsets->data(), num_bytes);
        const int64_t added = end_of(part, offset_bits);
        raise_offsets(offset_bits, {to, static_cast<size_t>(num_bytes)}, part.num_slots, before, added);
        before += added;
        to += num_bytes - width;
    }
    return all;
}

}  // namespace lance
