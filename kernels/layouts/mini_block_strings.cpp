// Byte strings of mini-block pages.
#include "layouts/mini_block_reader.h"

#include "encodings/append_symbols.h"
#include "encodings/decode.h"
#include "encodings/fsst.h"
#include "encodings/variable.h"
#include "predicates/flagged_strings.h"
#include "predicates/passed_ranges.h"
#include "predicates/selected_values.h"
#include "predicates/symbol_matching.h"

namespace lance {

namespace {

// FSST strings that pass in runs of this average length are decoded in place; the codes of others are moved together
// first.
constexpr int64_t kStringsPerLongRun = 32;

// So many strings are decoded, tested and moved together before the next ones.
constexpr int64_t kStringsTogether = kSpareRows;

// Calls visit(rows, position) for at most this many rows at a time; position: of the first of them.
template <class Visit>
void for_each_run(const Ranges& rows, int64_t most_rows, Visit visit) {
    std::vector<int64_t> pairs;
    int64_t position = 0;
    int64_t count = 0;
    const auto flush = [&] {
        if (count == 0) return;
        visit(Ranges(as_bytes(pairs), kMaxCount), position);
        position += count;
        count = 0;
        pairs.clear();
    };
    for (int64_t i = 0; i < rows.size(); ++i) {
        for (int64_t row = rows.start(i); row < rows.end(i);) {
            const int64_t now = std::min(rows.end(i) - row, most_rows - count);
            pairs.insert(pairs.end(), {row, row + now});
            row += now;
            count += now;
            if (count == most_rows) flush();
        }
    }
    flush();
}

// The number of strings sampled for the codes that most strings of a page begin with.
constexpr int64_t kSampledStrings = 16;

// The bytes of some strings of the first chunk of the rows; none of one that is damaged, for it may not be needed.
std::vector<Bytes> sample_strings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits) {
    const auto [first, end] = rows.bounds();
    std::vector<Bytes> sample;
    if (first == end) return sample;
    chunks.require_buffer_index(0);
    const std::vector<int64_t>& starts = chunks.table().item_starts();
    const int64_t number = chunks.table().chunk_of(first);
    const int64_t begin = starts[static_cast<size_t>(number)];
    const int64_t stop = starts[static_cast<size_t>(number) + 1];
    const Piece piece{number, first - begin, std::min(end, stop) - begin, stop - begin, 0};
    try {
        with_offset(offset_bits, [&](auto offset) {
            const VariableChunk<decltype(offset)> chunk(chunks, piece);
            chunk.checked_bytes(piece);
            const int64_t step = std::max<int64_t>(piece.size() / kSampledStrings, 1);
            for (int64_t i = piece.first; i < piece.last; i += step) {
                sample.push_back(
                    {chunk.start() + chunk.offset(i), static_cast<size_t>(chunk.offset(i + 1) - chunk.offset(i))});
            }
        });
    } catch (const std::invalid_argument&) {
        sample.clear();
    }
    return sample;
}

}  // namespace

void MiniBlockReader::read_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const MutableBytes offsets = out.offsets(rows.num_items());
    const int64_t total = variable_offsets(chunks, rows, values_.bits, offsets, values_.format.bits);
    raise_offsets(values_.format.bits, offsets, rows.num_items(), out.num_bytes(), total);
    variable_bytes(chunks, rows, values_.bits, out.bytes(total));
    out.add_bytes(total);
}

void MiniBlockReader::read_symbols(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const int64_t num_codes = num_variable_bytes(chunks, rows, values_.bits);
    append_symbols(
        rows.num_items(), num_codes, expansion_, out, [&](int64_t row, MutableBytes offsets, MutableBytes all) {
            return fsst(chunks, rows, values_.bits, values_.symbol_table, row, offsets, values_.format.bits, all);
        });
}

void MiniBlockReader::mask_strings(const PageBytes& bytes, const Ranges& rows, const StringTest& test,
                                   MutableBytes flags) const {
    if (!is_variable()) fail("values of fixed width are tested as strings");
    const Chunks chunks = this->chunks(bytes);
    if (values_.definition) match_validity(chunks, rows, *values_.definition, true, flags);
    if (count_flags(flags) == 0) return;
    if (values_.codec == ValueCodec::kVariable) {
        match_strings(chunks, rows, values_.bits, test, flags);
    } else if (const std::shared_ptr<const SymbolMatcher> matcher = symbol_matcher(test, chunks, rows)) {
        matcher->keep(chunks, rows, values_.bits, flags);
    } else {
        mask_decoded(chunks, rows, test, flags);
    }
    note_share(count_flags(flags), rows.num_items());
}

// That of the last test is cached. No thread waits for it: a process that was forked may have inherited the lock as
// held.
std::shared_ptr<const SymbolMatcher> MiniBlockReader::symbol_matcher(const StringTest& test, const Chunks& chunks,
                                                                     const Ranges& rows) const {
    {
        const std::unique_lock lock(matcher_mutex_, std::try_to_lock);
        if (lock && matcher_ && matcher_->is_for(test)) return matcher_;
    }
    const std::vector<Bytes> sample = sample_strings(chunks, rows, values_.bits);
    std::optional<SymbolMatcher> made = SymbolMatcher::make(SymbolTable(values_.symbol_table), test, sample);
    if (!made) return nullptr;
    const auto matcher = std::make_shared<const SymbolMatcher>(std::move(*made));
    const std::unique_lock lock(matcher_mutex_, std::try_to_lock);
    if (lock) matcher_ = matcher;
    return matcher;
}

// Strings of which tests before have left few runs are decoded alone.
void MiniBlockReader::mask_decoded(const Chunks& chunks, const Ranges& rows, const StringTest& test,
                                   MutableBytes flags) const {
    const bool is_sparse = count_flags(flags) < rows.num_items() && count_runs(flags) * kRowsPerRun <= rows.num_items();
    const std::vector<int64_t> pairs = is_sparse ? flagged_ranges(rows, flags) : std::vector<int64_t>();
    const Bytes view = as_bytes(pairs);
    const Ranges wanted = is_sparse ? Ranges(view, num_rows()) : rows;
    ColumnBuilder scratch(values_.format, wanted.num_items());
    DecodedStrings decoded = decode_strings(chunks, wanted, scratch);
    decoded.are_flagged = is_sparse;
    keep_strings(decoded, test, flags);
}

// Some thousands of strings at a time: the codes of matches are decoded while they are in a processor cache, or decoded
// strings are moved together.
void MiniBlockReader::filter_strings(const Chunks& chunks, const Ranges& rows, const StringTest& test,
                                     MutableBytes flags, ColumnBuilder& out) const {
    if (values_.definition) match_validity(chunks, rows, *values_.definition, true, flags);
    const std::shared_ptr<const SymbolMatcher> matcher = symbol_matcher(test, chunks, rows);
    int64_t num_passed = 0;
    reserve_strings(chunks, rows, share_.load(std::memory_order_relaxed), out);
    for_each_run(rows, kStringsTogether, [&](const Ranges& run, int64_t position) {
        const MutableBytes of_run = flags.subspan(static_cast<size_t>(position), static_cast<size_t>(run.num_items()));
        if (matcher) {
            matcher->keep(chunks, run, values_.bits, of_run);
            append_flagged(chunks, run, of_run, count_flags(of_run), out);
        } else {
            filter_decoded(chunks, run, test, of_run, out);
        }
        const int64_t num_matches = count_flags(of_run);
        out.add_valid(num_matches);
        num_passed += num_matches;
    });
    note_share(num_passed, rows.num_items());
}

void MiniBlockReader::filter_decoded(const Chunks& chunks, const Ranges& run, const StringTest& test,
                                     MutableBytes flags, ColumnBuilder& out) const {
    const int64_t num_left = count_flags(flags);
    if (num_left == 0) return;
    const bool is_sparse = num_left < run.num_items() && count_runs(flags) * kRowsPerRun <= run.num_items();
    const std::vector<int64_t> pairs = is_sparse ? flagged_ranges(run, flags) : std::vector<int64_t>();
    const Bytes view = as_bytes(pairs);
    DecodedStrings decoded = decode_strings(chunks, is_sparse ? Ranges(view, num_rows()) : run, out);
    decoded.are_flagged = is_sparse;
    out.add_bytes(lance::filter_strings(decoded, test, flags));
}

// The num_flags strings with a flag; does not count the rows.
void MiniBlockReader::append_flagged(const Chunks& chunks, const Ranges& rows, Bytes flags, int64_t num_flags,
                                     ColumnBuilder& out) const {
    if (num_flags == 0) return;
    const int64_t offset_bits = values_.format.bits;
    if (values_.codec == ValueCodec::kVariable) {
        const int64_t total = num_flagged_bytes(chunks, rows, values_.bits, flags);
        const MutableBytes offsets = out.offsets(num_flags);
        copy_flagged(chunks, rows, values_.bits, flags, num_flags, offsets, offset_bits,
                     out.bytes(total + kFlaggedSlack));
        raise_offsets(offset_bits, offsets, num_flags, out.num_bytes(), total);
        out.add_bytes(total);
    } else if (num_flags == rows.num_items()) {
        read_symbols(chunks, rows, out);
    } else if (count_runs(flags) * kStringsPerLongRun <= num_flags) {
        const std::vector<int64_t> pairs = flagged_ranges(rows, flags);
        const Ranges flagged(as_bytes(pairs), num_rows());
        if (flagged.num_items() != num_flags) fail(flagged.num_items(), " rows are flagged, not ", num_flags);
        read_symbols(chunks, flagged, out);
    } else {
        const FlaggedStrings codes(chunks, rows, values_.bits, flags, num_flags);
        append_symbols(num_flags, size_of(codes.bytes()), expansion_, out,
                       [&](int64_t row, MutableBytes offsets, MutableBytes all) {
                           return fsst_values(codes.offsets(), codes.offset_bits(), num_flags, codes.bytes(),
                                              values_.symbol_table, row, offsets, offset_bits, all);
                       });
    }
}

void MiniBlockReader::take_strings(const Chunks& chunks, const Ranges& rows, const PassedRows& passed,
                                   ColumnBuilder& out) const {
    const Bytes flags = passed.flags().first(static_cast<size_t>(rows.num_items()));
    append_flagged(chunks, rows, flags, passed.count(), out);
    if (!values_.definition) {
        out.add_valid(passed.count());
    } else {
        out.add_rows(passed.count(),
                     append_selected_validity(chunks, rows, *values_.definition, flags, out.validity()));
    }
}

// Room for all strings at once is moved less often than room that grows, and strings in room of which most is not used
// are moved in the end. share: of the rows, those that are expected to pass
void MiniBlockReader::reserve_strings(const Chunks& chunks, const Ranges& rows, double share,
                                      ColumnBuilder& out) const {
    const int64_t num_bytes = num_variable_bytes(chunks, rows, values_.bits);
    const double expansion = values_.codec == ValueCodec::kFsst ? expansion_.load(std::memory_order_relaxed) : 1.0;
    const double room = static_cast<double>(num_bytes) * expansion * share * kSymbolHeadroom;
    out.bytes(static_cast<int64_t>(room) + 2 * kSymbolSlack);
}

// Strings after those of `out`, in its memory, but not yet counted.
DecodedStrings MiniBlockReader::decode_strings(const Chunks& chunks, const Ranges& rows, ColumnBuilder& out) const {
    const int64_t before = out.num_bytes();
    if (values_.codec == ValueCodec::kFsst) {
        read_symbols(chunks, rows, out);
    } else {
        read_strings(chunks, rows, out);
    }
    const int64_t after = out.num_bytes();
    out.add_bytes(before - after);
    const MutableBytes bytes = out.bytes(after - before);
    return {out.offsets(rows.num_items()).data(),
            values_.format.bits,
            bytes.data() - before,
            before + size_of(bytes),
            rows.num_items(),
            false};
}

}  // namespace lance
