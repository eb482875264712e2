// One batch after the other: bytes are found, tests run, columns put together, failures named.
#include "stream/fragment_rows.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "arrow/arrow_node.h"
#include "schema/json_columns.h"
#include "stream/string_items.h"

namespace lance {

namespace {

std::vector<int64_t> to_numbers(Bytes bytes) {
    if (bytes.size() % sizeof(int64_t) != 0) fail("64-bit numbers in ", bytes.size(), " bytes");
    std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
    copy(reinterpret_cast<uint8_t*>(numbers.data()), bytes.data(), size_of(bytes));
    return numbers;
}

// Rows between two ranges, deleted ones for example, are learned as well, so that zones become whole.
constexpr int64_t kLearnedGap = 4096;
// Nothing is learned from fewer rows, so that lookups of single rows stay cheap.
constexpr int64_t kFewestLearned = 8192;

std::vector<int64_t> widened(const std::vector<int64_t>& rows) {
    std::vector<int64_t> wide;
    for (size_t i = 0; i < rows.size(); i += 2) {
        if (!wide.empty() && rows[i] - wide.back() <= kLearnedGap) {
            wide.back() = rows[i + 1];
        } else {
            wide.insert(wide.end(), {rows[i], rows[i + 1]});
        }
    }
    return wide;
}

// This many rows of a batch are sampled, in two places, before it is learned as a whole.
constexpr int64_t kSampledRows = 512;

std::vector<int64_t> sampled(const std::vector<int64_t>& rows) {
    const size_t middle = rows.size() / 4 * 2;
    const int64_t first = rows.size() > 2 ? rows[middle] : (rows[0] + rows[1]) / 2;
    std::vector<int64_t> samples;
    if (rows[0] + kSampledRows < first) samples = {rows[0], std::min(rows[0] + kSampledRows, rows[1])};
    samples.insert(samples.end(), {first, std::min(first + kSampledRows, rows[middle + 1])});
    return samples;
}

// Whether zones of a column have different bounds, by a sample of its values.
bool is_worth_learning(const StreamedTest& test, const std::vector<int64_t>& rows) {
    const std::vector<int64_t> some = sampled(rows);
    ZoneObserver sampler(*test.learned);
    test.reader->observe(Ranges(as_bytes(some), test.reader->num_rows()), test.parts, sampler);
    return sampler.is_worth_learning();
}

// Whether all of the rows are decoded for the test, if it is the first one.
bool looks_at_all(const StreamedTest& test, const std::vector<int64_t>& rows) {
    if (rows.back() > test.learned->num_rows()) return false;
    for (size_t i = 0; i < rows.size(); i += 2) {
        const auto [first, end] = test.reader->pages_of(rows[i], rows[i + 1]);
        for (auto page = static_cast<size_t>(first); page < static_cast<size_t>(end); ++page) {
            if (page >= test.answers->size() || (*test.answers)[page].kind != PageAnswer::kTest) return false;
        }
    }
    return true;
}

// Learns statistics of the rows. For the first test this is left to the caller of the test, with the returned observer,
// so that its values are decoded once.
std::optional<ZoneObserver> learn(const std::vector<StreamedTest>& tests, const FilterSteps& steps,
                                  const std::vector<int64_t>& rows) {
    std::optional<ZoneObserver> shown;
    if (Ranges(as_bytes(rows), kMaxCount).num_items() < kFewestLearned) return shown;
    std::vector<int64_t> wide;
    for (size_t i = 0; i < tests.size(); ++i) {
        const StreamedTest& test = tests[i];
        if (test.learned == nullptr) continue;
        if (wide.empty()) wide = widened(rows);
        try {
            if (!test.learned->takes_decided(Ranges(as_bytes(wide), kMaxCount).num_items()) &&
                !is_worth_learning(test, wide)) {
                continue;
            }
            if (steps.front().test == i && wide == rows && looks_at_all(test, rows)) {
                shown.emplace(*test.learned);
                continue;
            }
            ZoneObserver observer(*test.learned);
            test.reader->observe(Ranges(as_bytes(wide), test.reader->num_rows()), test.parts, observer);
            observer.finish();
        } catch (const std::invalid_argument&) {
            // Damage raises its error when it is read.
        }
    }
    return shown;
}

// Whether bounds of the keys of values can decide a test, given as for pages.
bool is_of_keys(const StreamedTest& test) {
    const auto answer = std::ranges::find_if(
        *test.answers, [](const PageAnswer& each) { return each.kind == PageAnswer::kTest && each.test != nullptr; });
    return answer != test.answers->end() && !std::holds_alternative<StringTest>(*answer->test) &&
           !std::holds_alternative<ValidityTest>(*answer->test);
}

// Tells a column of which all rows passed the only test that bounds would have spared it.
void note_decided(const StreamedFilter& filter, int64_t num_rows, int64_t num_passed) {
    if (num_passed < num_rows || num_rows < kFewestLearned || filter.steps.size() != 1 || !filter.steps[0].test) return;
    const StreamedTest& test = filter.tests[*filter.steps[0].test];
    if (test.learned != nullptr && is_of_keys(test)) test.learned->note_decided();
}

// Gives values of a batch their dictionary. first_row, last_row: of the batch
void add_items(ArrowArray& values, const std::vector<StreamedItems>& items, int64_t first_row, int64_t last_row) {
    const StreamedItems* current = nullptr;
    for (const StreamedItems& each : items) {
        if (each.first_row <= first_row) current = &each;
        if (each.first_row > first_row && each.first_row <= last_row) fail("a batch with items of two dictionaries");
    }
    if (current == nullptr) fail("no items from row ", first_row, " on");
    if (const auto* offset_bits = std::get_if<int64_t>(&current->items)) {
        number_items(values, *offset_bits);
        return;
    }
    auto dictionary = std::make_unique<ArrowArray>();
    std::get<SharedArray>(current->items).copy(*dictionary);
    values.dictionary = dictionary.release();
}

std::vector<ColumnRows> column_rows(const std::vector<StreamedColumn>& columns, const std::vector<int64_t>& chosen) {
    std::vector<ColumnRows> rows;
    for (const StreamedColumn& each : columns) {
        rows.push_back({each.reader, Ranges(as_bytes(chosen), each.reader->num_rows()), &each.parts});
    }
    return rows;
}

// Values that lie in the file as Arrow has them are not copied.
void read_all(const std::vector<StreamedColumn>& columns, const std::vector<int64_t>& chosen,
              std::vector<ArrowArray>& arrays) {
    arrays.resize(columns.size());
    std::vector<ColumnRows> copied;
    std::vector<size_t> indices;
    const std::vector<ColumnRows> rows = column_rows(columns, chosen);
    for (size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].lent.empty()) {
            try {
                const auto array = lend(*columns[i].reader, columns[i].parts, columns[i].lent, rows[i].rows);
                if (array) arrays[i] = *array;
                if (array) continue;
            } catch (const std::invalid_argument& error) {
                throw PageFailure(false, i, kUnknownPage, error.what());
            }
        }
        copied.push_back(rows[i]);
        indices.push_back(i);
    }
    std::vector<ArrowArray> made;
    try {
        read_columns({}, {}, copied, std::nullopt, made);
    } catch (const PageFailure& failure) {
        throw PageFailure(false, indices[failure.column], failure.number, failure.what());
    }
    for (size_t i = 0; i < made.size(); ++i) arrays[indices[i]] = made[i];
}

// The page of the passing row at a position. flags: of all chosen rows; none if all of them pass
size_t page_at(const ColumnReader& reader, const std::vector<int64_t>& chosen, Bytes flags, int64_t position) {
    int64_t number = 0;
    for (size_t i = 0; i < chosen.size(); i += 2) {
        for (int64_t row = chosen[i]; row < chosen[i + 1]; ++row, ++number) {
            const bool passes = flags.empty() || flags[static_cast<size_t>(number)] != 0;
            if (passes && position-- == 0) return static_cast<size_t>(reader.pages_of(row, row + 1).first);
        }
    }
    return kUnknownPage;
}

// The columns of a batch. flags: of all chosen rows; none if all of them are read
HeldArrays assembled(const std::vector<StreamedColumn>& columns, const std::vector<StreamedShape>& shapes,
                     const std::vector<int64_t>& chosen, Bytes flags, HeldArrays read, int64_t num_rows) {
    for (size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].is_json) {
            try {
                to_json_texts(read.arrays[i]);
            } catch (const JsonFailure& failure) {
                throw PageFailure(false, i, page_at(*columns[i].reader, chosen, flags, failure.row), failure.what(),
                                  failure.kind == JsonFaultKind::kUnsupported);
            }
        }
        if (columns[i].items.empty()) continue;
        ArrowArray* leaf = &read.arrays[i];
        while (leaf->n_children == 1) leaf = leaf->children[0];
        add_items(*leaf, columns[i].items, chosen.front(), chosen.back() - 1);
    }
    HeldArrays batch;
    batch.arrays.reserve(shapes.size());
    for (const StreamedShape& shape : shapes) {
        if (shape.are_nulls()) {
            batch.arrays.push_back(nulls(num_rows));
            continue;
        }
        const size_t first = shape.first_column();
        try {
            batch.arrays.push_back(assemble(shape, read.arrays));
            const ArrowArray& made = batch.arrays.back();
            if (made.length != num_rows) fail(num_rows, " rows became ", made.length);
            if (!columns[first].nullable && made.null_count != 0)
                fail("NULL in a column that has none by the table's schema");
        } catch (const std::invalid_argument& error) {
            throw PageFailure(false, first, kUnknownPage, error.what());
        }
    }
    return batch;
}

ArrowArray to_struct(HeldArrays columns, int64_t num_rows) {
    NodeSlots slots;
    slots.num_slots = num_rows;
    return around(std::move(columns.arrays), std::move(slots));
}

// Clears the flags of rows that do not pass the rest.
void clear_failing(MutableBytes flags, const std::vector<uint8_t>& passed) {
    size_t next = 0;
    for (uint8_t& flag : flags) {
        if (flag == 0) continue;
        if (next == passed.size()) fail("an evaluation of too few rows");
        flag = passed[next++] & 1;
    }
    if (next != passed.size()) fail("an evaluation of too many rows");
}

}  // namespace

FragmentRows::FragmentRows(Bytes rows, Bytes ends, StreamedFilter filter, std::optional<StreamedEvaluation> evaluation,
                           std::vector<StreamedColumn> columns, std::vector<StreamedShape> shapes, int64_t most_joined)
    : rows_(to_numbers(rows)),
      ends_(to_numbers(ends)),
      filter_(std::move(filter)),
      evaluation_(std::move(evaluation)),
      columns_(std::move(columns)),
      shapes_(std::move(shapes)),
      most_joined_(most_joined) {
    check_shapes(shapes_, columns_.size());
    if (evaluation_) check_shapes(evaluation_->shapes, evaluation_->columns.size());
    const Ranges ranges(as_bytes(rows_), kMaxCount);
    int64_t num_rows = 0;
    for (int64_t i = 0; i < ranges.size(); ++i) {
        before_.push_back(num_rows);
        num_rows += ranges.end(i) - ranges.start(i);
    }
    int64_t last = 0;
    for (const int64_t end : ends_) {
        if (end <= last || end > num_rows) fail("a batch from row ", last, " to ", end, " of ", num_rows);
        last = end;
    }
    if (last != num_rows) fail("batches of ", last, " rows for ", num_rows);
}

int64_t FragmentRows::end_of_joined(int64_t first) const {
    int64_t end = first + 1;
    if (filter_.steps.empty() && !evaluation_) return end;
    while (end < num_batches() && num_rows(first, end + 1) <= most_joined_ && !begins_items(start_of(end))) ++end;
    return end;
}

// Whether values of another dictionary begin between the row before a position and the one that is there.
bool FragmentRows::begins_items(int64_t position) const {
    const auto row_at = [this](int64_t at) {
        const auto range =
            static_cast<size_t>(std::upper_bound(before_.begin(), before_.end(), at) - before_.begin()) - 1;
        return rows_[2 * range] + (at - before_[range]);
    };
    const int64_t before = row_at(position - 1);
    const int64_t row = row_at(position);
    const auto begins = [&](const StreamedColumn& column) {
        return std::ranges::any_of(column.items, [&](const StreamedItems& items) {
            return items.first_row > before && items.first_row <= row;
        });
    };
    return std::ranges::any_of(columns_, begins) || (evaluation_ && std::ranges::any_of(evaluation_->columns, begins));
}

std::vector<int64_t> FragmentRows::rows_of(int64_t first, int64_t end_batch) const {
    int64_t position = start_of(first);
    const int64_t end = start_of(end_batch);
    std::vector<int64_t> ranges;
    auto range = static_cast<size_t>(std::upper_bound(before_.begin(), before_.end(), position) - before_.begin()) - 1;
    for (; position < end; ++range) {
        const int64_t start = rows_[2 * range] + (position - before_[range]);
        const int64_t stop = std::min(rows_[2 * range + 1], start + (end - position));
        if (start < stop) ranges.insert(ranges.end(), {start, stop});
        position += stop - start;
    }
    return ranges;
}

EvaluatedRows FragmentRows::evaluate(ArrowArray values) const {
    values.release(&values);
    fail("a filter with a part that nobody evaluates");
}

// The columns of the rows that pass all steps, of which num_rows is the number.
HeldArrays FragmentRows::read_passing(const std::vector<StreamedColumn>& columns,
                                      const std::vector<StreamedShape>& shapes, const std::vector<int64_t>& chosen,
                                      MutableBytes flags, int64_t& num_rows) const {
    const auto rows_in = [&](const ColumnReader* reader, const FileParts& parts) {
        return ColumnRows{reader, Ranges(as_bytes(chosen), reader->num_rows()), &parts};
    };
    FilterRows filter;
    for (const StreamedTest& each : filter_.tests) {
        filter.tests.push_back({rows_in(each.reader, each.parts), each.answers, nullptr});
    }
    for (const StreamedPair& each : filter_.pairs) {
        filter.pairs.push_back(
            {rows_in(each.left, each.left_parts), rows_in(each.right, each.right_parts), each.comparison});
    }
    HeldArrays read;
    num_rows = size_of(flags);
    if (filter_.steps.empty()) {
        read_all(columns, chosen, read.arrays);
    } else {
        std::optional<ZoneObserver> shown = learn(filter_.tests, filter_.steps, chosen);
        if (shown) filter.tests[*filter_.steps.front().test].observer = &*shown;
        num_rows = read_columns(filter, filter_.steps, column_rows(columns, chosen), flags, read.arrays);
        if (shown) shown->finish();
        note_decided(filter_, size_of(flags), num_rows);
        if (num_rows == 0) return {};
    }
    return assembled(columns, shapes, chosen, flags, std::move(read), num_rows);
}

// The same, of the columns that the rest of the filter is evaluated on.
HeldArrays FragmentRows::read_evaluated(const std::vector<int64_t>& chosen, MutableBytes flags,
                                        int64_t& num_rows) const {
    try {
        return read_passing(evaluation_->columns, evaluation_->shapes, chosen, flags, num_rows);
    } catch (const PageFailure& failure) {
        if (failure.in_test) throw;
        throw PageFailure(false, columns_.size() + failure.column, failure.number, failure.what(),
                          failure.is_unsupported);
    }
}

// The columns of the rows that have a flag.
HeldArrays FragmentRows::read_flagged(const std::vector<int64_t>& chosen, MutableBytes flags, int64_t num_rows) const {
    HeldArrays read;
    if (num_rows == size_of(flags)) {
        read_all(columns_, chosen, read.arrays);
    } else if (!columns_.empty()) {
        read_columns({}, {}, column_rows(columns_, chosen), flags, read.arrays);
    }
    return assembled(columns_, shapes_, chosen, flags, std::move(read), num_rows);
}

std::optional<ArrowArray> FragmentRows::read(int64_t first, int64_t end) const {
    const std::vector<int64_t> chosen = rows_of(first, end);
    int64_t num_rows = Ranges(as_bytes(chosen), kMaxCount).num_items();
    const bool has_filter = evaluation_ || !filter_.steps.empty();
    const PooledBuffer memory(has_filter ? num_rows : 0);
    const MutableBytes flags(memory.data(), static_cast<size_t>(has_filter ? num_rows : 0));
    if (!has_filter) {
        HeldArrays read;
        read_all(columns_, chosen, read.arrays);
        return to_struct(assembled(columns_, shapes_, chosen, {}, std::move(read), num_rows), num_rows);
    }
    std::ranges::fill(flags, uint8_t{1});
    if (!evaluation_) {
        HeldArrays batch = read_passing(columns_, shapes_, chosen, flags, num_rows);
        if (num_rows == 0) return std::nullopt;
        return to_struct(std::move(batch), num_rows);
    }
    HeldArrays values = read_evaluated(chosen, flags, num_rows);
    if (num_rows == 0) return std::nullopt;
    EvaluatedRows passed = evaluate(to_struct(std::move(values), num_rows));
    if (passed.num_rows == 0) return std::nullopt;
    if (!passed.flags.empty()) clear_failing(flags, passed.flags);
    HeldArrays batch = read_flagged(chosen, flags, passed.num_rows);
    if (passed.kept.arrays.size() != evaluation_->kept_at.size()) fail("an evaluation of other columns");
    for (size_t i = 0; i < evaluation_->kept_at.size(); ++i) {
        const size_t place = evaluation_->kept_at[i];
        if (place > batch.arrays.size()) fail("no place ", place, " in a batch");
        if (passed.kept.arrays[i].length != passed.num_rows) fail("an evaluation of other rows");
        batch.arrays.insert(batch.arrays.begin() + static_cast<std::ptrdiff_t>(place), ArrowArray{});
        batch.arrays[place] = std::exchange(passed.kept.arrays[i], ArrowArray{});
    }
    return to_struct(std::move(batch), passed.num_rows);
}

}  // namespace lance
