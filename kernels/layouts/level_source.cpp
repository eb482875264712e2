// Levels of chunks, of whole pages, and of none.
#include "layouts/level_source.h"

#include <algorithm>

#include "encodings/decode.h"
#include "encodings/pieces.h"
#include "layouts/entries.h"

namespace lance {

namespace {

std::vector<int64_t> pairs_of(const Ranges& rows) {
    std::vector<int64_t> pairs;
    for (int64_t i = 0; i < rows.size(); ++i) {
        if (rows.start(i) < rows.end(i)) pairs.insert(pairs.end(), {rows.start(i), rows.end(i)});
    }
    return pairs;
}

void add_items(std::vector<int64_t>& items, int64_t first, int64_t last) {
    if (first == last) return;
    if (!items.empty() && items.back() == first) {
        items.back() = last;
    } else {
        items.insert(items.end(), {first, last});
    }
}

MutableBytes reserve(PooledBuffer& held, int64_t num_levels) {
    held = PooledBuffer(multiply(num_levels, 2));
    return {held.data(), static_cast<size_t>(2 * num_levels)};
}

template <class Buffer>
Buffer part_of(Buffer levels, int64_t first, int64_t last) {
    return levels.subspan(static_cast<size_t>(2 * first), static_cast<size_t>(2 * (last - first)));
}

std::vector<int64_t> to_counts(Bytes bytes, int64_t num_chunks, const char* name) {
    require_input(bytes, multiply(num_chunks, 8), name);
    std::vector<int64_t> counts;
    for (int64_t i = 0; i < num_chunks; ++i) {
        const auto count = load<int64_t>(bytes.data() + 8 * i);
        if (count < (counts.empty() ? 0 : counts.back()) || count > kMaxCount) fail(name, " descend");
        counts.push_back(count);
    }
    return counts;
}

}  // namespace

std::vector<Entries> NoLevels::select(const PageBytes&, const Ranges& rows) const {
    std::vector<Entries> parts(1);
    parts[0].num_entries = rows.num_items();
    parts[0].items = pairs_of(rows);
    return parts;
}

ChunkLevels::ChunkLevels(const ChunkTable& table, EntryRules rules, std::optional<LevelEncoding> rep,
                         std::optional<LevelEncoding> def, Bytes starts_through, Bytes ends_through)
    : table_(table), rules_(rules), rep_(rep), def_(def) {
    if (rep.has_value() != (rules.max_rep > 0) || rep.has_value() != table.shape().has_rep) {
        fail("lists without repetition levels, or levels without lists");
    }
    if (def && !table.shape().has_def) fail("definition levels that chunks do not have");
    if (!rep) return;
    starts_through_ = to_counts(starts_through, table.num_chunks(), "starts of rows");
    ends_through_ = to_counts(ends_through, table.num_chunks(), "ends of rows");
}

int64_t ChunkLevels::first_chunk(int64_t row) const {
    if (!rep_) return table_.chunk_of(row);
    const auto chunk = std::upper_bound(starts_through_.begin(), starts_through_.end(), row);
    if (chunk == starts_through_.end()) fail("row ", row, " is not in the repetition index");
    return chunk - starts_through_.begin();
}

int64_t ChunkLevels::end_chunk(int64_t end_row) const {
    if (!rep_) return table_.chunk_of(end_row - 1) + 1;
    const auto chunk = std::lower_bound(ends_through_.begin(), ends_through_.end(), end_row);
    if (chunk == ends_through_.end()) fail("row ", end_row - 1, " is not in the repetition index");
    return chunk - ends_through_.begin() + 1;
}

std::pair<int64_t, int64_t> ChunkLevels::bytes_of(const Ranges& rows) const {
    const std::vector<int64_t> pairs = pairs_of(rows);
    if (pairs.empty()) return {0, 0};
    const int64_t first = first_chunk(pairs.front());
    const int64_t end = end_chunk(pairs.back());
    if (first >= end) fail("rows that end before they begin");
    const std::vector<int64_t>& offsets = table_.byte_offsets();
    return {offsets[static_cast<size_t>(first)], offsets[static_cast<size_t>(end)]};
}

std::vector<Entries> ChunkLevels::select(const PageBytes& bytes, const Ranges& rows) const {
    const Chunks chunks(table_, bytes.data, bytes.start);
    std::vector<Entries> parts;
    if (!rep_) {
        parts.push_back(flat_entries(chunks, rows));
        return parts;
    }
    const std::vector<int64_t> pairs = pairs_of(rows);
    for (size_t i = 0; i < pairs.size();) {
        const int64_t first = first_chunk(pairs[i]);
        int64_t end = end_chunk(pairs[i + 1]);
        size_t j = i + 2;
        // no chunk is decoded twice
        for (; j < pairs.size() && first_chunk(pairs[j]) <= end; j += 2) end = std::max(end, end_chunk(pairs[j + 1]));
        if (first >= end) fail("rows that end before they begin");
        Entries entries = decode(chunks, first, end);
        choose(entries, first, end,
               {pairs.begin() + static_cast<std::ptrdiff_t>(i), pairs.begin() + static_cast<std::ptrdiff_t>(j)});
        parts.push_back(std::move(entries));
        i = j;
    }
    return parts;
}

Entries ChunkLevels::flat_entries(const Chunks& chunks, const Ranges& rows) const {
    Entries entries;
    entries.num_entries = rows.num_items();
    entries.items = pairs_of(rows);
    if (!def_) return entries;
    entries.def = reserve(entries.held_def, entries.num_entries);
    PieceLevels levels(chunks, *def_);
    for_each_piece(table_, rows, [&](const Piece& piece) {
        copy(entries.def->data() + 2 * piece.position, levels.of(piece), 2 * piece.size());
    });
    return entries;
}

// All entries of chunks [first, end).
Entries ChunkLevels::decode(const Chunks& chunks, int64_t first, int64_t end) const {
    Entries entries;
    for (const int64_t count : num_levels(chunks, first, end)) entries.num_entries += count;
    entries.rep = reserve(entries.held_rep, entries.num_entries);
    levels(chunks, first, end, LevelKind::kRepetition, *rep_, *entries.rep);
    if (def_) {
        entries.def = reserve(entries.held_def, entries.num_entries);
        levels(chunks, first, end, LevelKind::kDefinition, *def_, *entries.def);
    }
    return entries;
}

// Stores the entries of the rows, which are in chunks [first, end), in `pairs`.
void ChunkLevels::choose(Entries& entries, int64_t first, int64_t end, const std::vector<int64_t>& pairs) const {
    const int64_t before = rows_before(first);
    const int64_t first_item = table_.item_starts()[static_cast<size_t>(first)];
    const uint8_t* rep = entries.rep->data();
    const auto max_rep = static_cast<uint16_t>(rules_.max_rep);
    int64_t num_starts = 0;
    for (int64_t i = 0; i < entries.num_entries; ++i) num_starts += load<uint16_t>(rep + 2 * i) == max_rep;
    if (num_starts != rows_before(end) - before) {
        fail(num_starts, " rows begin in chunks where the repetition index has ", rows_before(end) - before);
    }
    if (pairs.size() == 2) {
        choose_one(entries, first_item, pairs[0] - before, pairs[1] - pairs[0]);
        return;
    }
    // The first entry and the first item of each row.
    std::vector<int64_t> entry_at(static_cast<size_t>(num_starts) + 1);
    std::vector<int64_t> item_at(static_cast<size_t>(num_starts) + 1);
    const uint8_t* def = entries.def ? entries.def->data() : nullptr;
    size_t row = 0;
    int64_t item = first_item;
    for (int64_t i = 0; i < entries.num_entries; ++i) {
        entry_at[row] = i;
        item_at[row] = item;
        row += load<uint16_t>(rep + 2 * i) == max_rep;
        item += def == nullptr || load<uint16_t>(def + 2 * i) <= rules_.max_visible;
    }
    entry_at[row] = entries.num_entries;
    item_at[row] = item;
    int64_t done = 0;
    for (size_t i = 0; i < pairs.size(); i += 2) {
        const auto from = static_cast<size_t>(pairs[i] - before);
        const auto to = static_cast<size_t>(pairs[i + 1] - before);
        if (to > row) fail("levels hold ", to - row, " rows less than asked for");
        const int64_t count = entry_at[to] - entry_at[from];
        std::memmove(entries.rep->data() + 2 * done, rep + 2 * entry_at[from], static_cast<size_t>(2 * count));
        if (def != nullptr) {
            std::memmove(entries.def->data() + 2 * done, def + 2 * entry_at[from], static_cast<size_t>(2 * count));
        }
        add_items(entries.items, item_at[from], item_at[to]);
        done += count;
    }
    entries.num_entries = done;
    entries.rep = part_of(*entries.rep, 0, done);
    if (entries.def) entries.def = part_of(*entries.def, 0, done);
}

void ChunkLevels::choose_one(Entries& entries, int64_t first_item, int64_t skip, int64_t num_rows) const {
    const RowSelection range =
        select_rows(*entries.rep, entries.def, entries.num_entries, rules_.max_rep, rules_.max_visible, skip, num_rows);
    entries.num_entries = range.entry_end - range.entry_start;
    entries.rep = part_of(*entries.rep, range.entry_start, range.entry_end);
    if (entries.def) entries.def = part_of(*entries.def, range.entry_start, range.entry_end);
    add_items(entries.items, first_item + range.items_before, first_item + range.items_before + range.num_items);
}

StoredLevels::StoredLevels(EntryRules rules, int64_t num_rows, std::optional<Bytes> rep, std::optional<Bytes> def)
    : rules_(rules), rep_(rep), def_(def) {
    if (!rep && !def) fail("neither repetition nor definition levels");
    const auto num_entries = static_cast<int64_t>((rep ? *rep : *def).size() / 2);
    if (rep && def && rep->size() != def->size()) fail(rep->size(), " and ", def->size(), " bytes of levels");
    if (rep.has_value() != (rules.max_rep > 0)) fail("lists without repetition levels, or levels without lists");
    if (!rep) {
        if (num_entries < num_rows) fail(num_entries, " levels for ", num_rows, " rows");
        return;
    }
    for (int64_t i = 0; i < num_entries; ++i) {
        if (load<uint16_t>(rep->data() + 2 * i) == rules.max_rep) row_starts_.push_back(i);
    }
    if (static_cast<int64_t>(row_starts_.size()) != num_rows || (num_rows > 0 && row_starts_[0] != 0)) {
        fail("levels of ", row_starts_.size(), " rows in a page of ", num_rows);
    }
    row_starts_.push_back(num_entries);
}

std::vector<Entries> StoredLevels::select(const PageBytes&, const Ranges& rows) const {
    std::vector<int64_t> pairs = pairs_of(rows);
    if (rep_) {
        for (int64_t& row : pairs) row = row_starts_[static_cast<size_t>(row)];
    }
    std::vector<Entries> parts(1);
    Entries& entries = parts[0];
    for (size_t i = 0; i < pairs.size(); i += 2) entries.num_entries += pairs[i + 1] - pairs[i];
    const auto gather = [&](Bytes levels, MutableBytes out) {
        uint8_t* to = out.data();
        for (size_t i = 0; i < pairs.size(); i += 2) {
            const Bytes part = part_of(levels, pairs[i], pairs[i + 1]);
            copy(to, part.data(), size_of(part));
            to += part.size();
        }
    };
    if (rep_) gather(*rep_, *(entries.rep = reserve(entries.held_rep, entries.num_entries)));
    if (def_) gather(*def_, *(entries.def = reserve(entries.held_def, entries.num_entries)));
    int64_t num_items = entries.num_entries;
    if (def_) {
        num_items = 0;
        for (int64_t i = 0; i < entries.num_entries; ++i) {
            num_items += load<uint16_t>(entries.def->data() + 2 * i) <= rules_.max_visible;
        }
    }
    add_items(entries.items, 0, num_items);
    return parts;
}

std::vector<Entries> SameLevels::select(const PageBytes&, const Ranges& rows) const {
    std::vector<Entries> parts(1);
    Entries& entries = parts[0];
    entries.num_entries = rows.num_items();
    entries.def = reserve(entries.held_def, entries.num_entries);
    for (int64_t i = 0; i < entries.num_entries; ++i) store(entries.def->data() + 2 * i, def_);
    add_items(entries.items, 0, def_ <= rules_.max_visible ? entries.num_entries : 0);
    return parts;
}

std::vector<int64_t> LevelsOfItems::items_of(const Ranges& rows) const {
    std::vector<int64_t> pairs = pairs_of(rows);
    for (int64_t& each : pairs) each = multiply(each, items_per_row_);
    return pairs;
}

std::pair<int64_t, int64_t> LevelsOfItems::bytes_of(const Ranges& rows) const {
    return items_->bytes_of(Ranges(as_bytes(items_of(rows)), multiply(num_rows_, items_per_row_)));
}

std::vector<Entries> LevelsOfItems::select(const PageBytes& bytes, const Ranges& rows) const {
    return items_->select(bytes, Ranges(as_bytes(items_of(rows)), multiply(num_rows_, items_per_row_)));
}

}  // namespace lance
