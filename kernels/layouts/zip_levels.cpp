// Entries are walked row by row; each begins where the index of rows has it.
#include "layouts/zip_levels.h"

namespace lance {

namespace {

// Moves levels into the entries.
void keep(const std::vector<uint16_t>& levels, PooledBuffer& held, std::optional<MutableBytes>& out) {
    const auto num_bytes = static_cast<int64_t>(2 * levels.size());
    held = PooledBuffer(num_bytes);
    copy(held.data(), reinterpret_cast<const uint8_t*>(levels.data()), num_bytes);
    out = MutableBytes(held.data(), static_cast<size_t>(num_bytes));
}

}  // namespace

ZipLevels::ZipLevels(EntryRules rules, ZipShape shape, std::optional<std::vector<int64_t>> row_starts)
    : rules_(rules), shape_(shape), row_starts_(std::move(row_starts)) {
    if ((shape.bits_rep > 0) != (rules.max_rep > 0)) fail("lists without repetition levels, or levels without lists");
    if (!row_starts_) {
        if (rules.max_rep > 0 || shape.is_variable()) fail("entries of several widths without an index of rows");
        return;
    }
    int64_t before = 0;
    for (const int64_t start : *row_starts_) {
        if (start < before || start > kMaxCount) fail("a row begins at ", start, " after one at ", before);
        before = start;
    }
}

int64_t ZipLevels::start_of(int64_t row) const {
    if (!row_starts_) return multiply(row, shape_.control_bytes + shape_.value_bytes);
    if (row >= static_cast<int64_t>(row_starts_->size())) fail("row ", row, " is not in the index");
    return (*row_starts_)[static_cast<size_t>(row)];
}

std::pair<int64_t, int64_t> ZipLevels::bytes_of(const Ranges& rows) const {
    const auto [first, end] = rows.bounds();
    if (first == end) return {0, 0};
    return {start_of(first), start_of(end)};
}

void ZipLevels::require_start(int64_t row, int64_t position) const {
    if (start_of(row) != position) fail("row ", row, " begins at ", position, ", the index has ", start_of(row));
}

std::vector<Entries> ZipLevels::select(const PageBytes& bytes, const Ranges& rows) const {
    std::vector<Entries> parts(1);
    Entries& entries = parts[0];
    std::vector<uint16_t> rep;
    std::vector<uint16_t> def;
    int64_t num_items = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
        const int64_t start = start_of(rows.start(i));
        const int64_t end = start_of(rows.end(i));
        if (start == end) continue;
        if (start < bytes.start) fail("row ", rows.start(i), " is not among the bytes from ", bytes.start, " on");
        ZipCursor cursor(bytes.data, start - bytes.start, end - bytes.start, shape_);
        int64_t row = rows.start(i);
        while (!cursor.at_end()) {
            const int64_t position = cursor.position() + bytes.start;
            const ZipEntry entry = cursor.next();
            if (entry.rep > rules_.max_rep) fail("repetition level ", entry.rep, " of ", rules_.max_rep, " lists");
            if (entry.rep == rules_.max_rep) require_start(row++, position);
            if (rules_.max_rep > 0) rep.push_back(entry.rep);
            if (shape_.bits_def > 0) def.push_back(entry.def);
            ++entries.num_entries;
            num_items += entry.visible;
        }
        if (row != rows.end(i)) fail(row - rows.start(i), " rows where the index has ", rows.end(i) - rows.start(i));
        if (!entries.items.empty() && entries.items.back() == start) {
            entries.items.back() = end;
        } else {
            entries.items.insert(entries.items.end(), {start, end});
        }
    }
    entries.num_items = num_items;
    if (rules_.max_rep > 0) keep(rep, entries.held_rep, entries.rep);
    if (shape_.bits_def > 0) keep(def, entries.held_def, entries.def);
    return parts;
}

}  // namespace lance
