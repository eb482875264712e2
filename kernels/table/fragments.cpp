// Source: messages lance.table.Manifest, DataFragment, DataFile, DeletionFile, RowIdSequence and
// RowDatasetVersionSequence.
#include "table/fragments.h"

#include <algorithm>
#include <array>

#include "proto/wire.h"

namespace lance {

namespace {

constexpr int64_t kManifestFragments = 2;

using Row = std::array<uint64_t, kNumFragmentColumns>;

constexpr uint64_t kLargest = ~uint64_t{0};

// The least and the greatest of some values.
struct Bounds {
    uint64_t least = kLargest;
    uint64_t greatest = 0;

    void add(uint64_t value) {
        least = std::min(least, value);
        greatest = std::max(greatest, value);
    }

    void add(const Bounds& other) {
        least = std::min(least, other.least);
        greatest = std::max(greatest, other.greatest);
    }

    // No bounds: any value is possible.
    static Bounds unknown() { return {0, kLargest}; }
};

template <class T>
Bounds bounds_of_offsets(uint64_t base, Bytes offsets) {
    const size_t count = offsets.size() / sizeof(T);
    if (count == 0) return {};
    uint64_t least = kLargest;
    uint64_t greatest = 0;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t offset = load<T>(offsets.data() + i * sizeof(T));
        least = std::min(least, offset);
        greatest = std::max(greatest, offset);
    }
    // ids beyond 64 bits are damage, which the reader of the sequence names
    if (greatest > kLargest - base) return Bounds::unknown();
    return {base + least, base + greatest};
}

// EncodedU64Array: 1, 2 offsets of 16 and 32 bits from a base {1 base, 2 offsets}, 3 the values themselves {2 values}.
Bounds bounds_of_array(Bytes array) {
    Bounds bounds;
    WireReader forms(array);
    for (const WireField& form : forms) {
        // of two forms a reader makes one, by rules that are not worth following here
        if (form.type != WireType::kBytes || forms.position() != size_of(array)) return Bounds::unknown();
        uint64_t base = 0;
        Bytes values;
        for (const WireField& part : WireReader(form.bytes)) {
            if (part.number == 1 && part.type == WireType::kVarint) base = part.value;
            if (part.number == 2 && part.type == WireType::kBytes) values = part.bytes;
        }
        if (form.number == 1) bounds.add(bounds_of_offsets<uint16_t>(base, values));
        if (form.number == 2) bounds.add(bounds_of_offsets<uint32_t>(base, values));
        if (form.number == 3) bounds.add(bounds_of_offsets<uint64_t>(0, values));
    }
    return bounds;
}

// U64Segment: 1 range, 2 range with holes, 3 range with a bitmap {each 1 start, 2 end}, 4 sorted array, 5 array.
Bounds bounds_of_segment(Bytes segment) {
    Bounds bounds;
    WireReader forms(segment);
    for (const WireField& form : forms) {
        if (form.type != WireType::kBytes || forms.position() != size_of(segment)) return Bounds::unknown();
        if (form.number >= 4) {
            bounds.add(form.number <= 5 ? bounds_of_array(form.bytes) : Bounds::unknown());
            continue;
        }
        uint64_t start = 0;
        uint64_t end = 0;
        for (const WireField& part : WireReader(form.bytes)) {
            if (part.number == 1 && part.type == WireType::kVarint) start = part.value;
            if (part.number == 2 && part.type == WireType::kVarint) end = part.value;
        }
        if (end > start) bounds.add({start, end - 1});
    }
    return bounds;
}

// RowIdSequence: 1 segments.
Bounds bounds_of_row_ids(Bytes sequence) {
    Bounds bounds;
    for (const WireField& segment : WireReader(sequence)) {
        if (segment.number == 1 && segment.type == WireType::kBytes) bounds.add(bounds_of_segment(segment.bytes));
    }
    return bounds;
}

// RowDatasetVersionSequence: 1 runs {1 span, 2 version}.
Bounds bounds_of_versions(Bytes sequence) {
    Bounds bounds;
    for (const WireField& run : WireReader(sequence)) {
        if (run.number != 1 || run.type != WireType::kBytes) continue;
        uint64_t version = 0;
        for (const WireField& part : WireReader(run.bytes)) {
            if (part.number == 2 && part.type == WireType::kVarint) version = part.value;
        }
        bounds.add(version);
    }
    return bounds;
}

// Bounds of a sequence. An unreadable message has no bounds: its reader reports the error, and other fragments can be
// read.
template <class Find>
Bounds found(Bytes sequence, Find find) {
    try {
        const Bounds bounds = find(sequence);
        return bounds.least <= bounds.greatest ? bounds : Bounds::unknown();
    } catch (const std::invalid_argument&) {
        return Bounds::unknown();
    }
}

void set_sequence(Row& row, FragmentColumn form_column, SequenceForm form, const Bounds& bounds) {
    // least and greatest follow the form
    row[form_column] = static_cast<uint64_t>(form);
    row[form_column + 1] = bounds.least;
    row[form_column + 2] = bounds.greatest;
}

struct FileFacts {
    uint64_t size = 0;
    bool has_columns = false;  // files of version 0.1 list none
};

// DataFile: 3 column indices, 6 size.
FileFacts file_facts(Bytes file) {
    FileFacts facts;
    for (const WireField& field : WireReader(file)) {
        if (field.number == 6 && field.type == WireType::kVarint) facts.size = field.value;
        if (field.number == 3) facts.has_columns |= field.type != WireType::kBytes || !field.bytes.empty();
    }
    return facts;
}

// DeletionFile: 4 number of deleted rows.
uint64_t num_deleted_rows(Bytes file) {
    uint64_t count = 0;
    for (const WireField& field : WireReader(file)) {
        if (field.number == 4 && field.type == WireType::kVarint) count = field.value;
    }
    return count;
}

// Bounds of a sequence, if requested.
template <class Find>
Bounds found_if(bool wanted, Bytes sequence, Find find) {
    return wanted ? found(sequence, find) : Bounds::unknown();
}

void add_bytes_field(Row& row, const WireField& field, bool& sizes_known, bool with_bounds) {
    switch (field.number) {
        case 2: {
            const FileFacts file = file_facts(field.bytes);
            sizes_known &= file.size != 0 && file.size <= static_cast<uint64_t>(kMaxCount);
            row[kNumFiles] += 1;
            row[kSizeBytes] += sizes_known ? file.size : 0;
            row[kHasLegacyFiles] |= !file.has_columns;
            break;
        }
        case 3:
            row[kHasDeletions] = 1;
            row[kNumDeletedRows] = num_deleted_rows(field.bytes);
            break;
        case 5:
            set_sequence(row, kRowIdsForm, SequenceForm::kInline,
                         found_if(with_bounds, field.bytes, bounds_of_row_ids));
            break;
        case 6: set_sequence(row, kRowIdsForm, SequenceForm::kExternal, Bounds::unknown()); break;
        case 7:
            set_sequence(row, kLastUpdatedAtForm, SequenceForm::kInline,
                         found_if(with_bounds, field.bytes, bounds_of_versions));
            break;
        case 8: set_sequence(row, kLastUpdatedAtForm, SequenceForm::kExternal, Bounds::unknown()); break;
        case 9:
            set_sequence(row, kCreatedAtForm, SequenceForm::kInline,
                         found_if(with_bounds, field.bytes, bounds_of_versions));
            break;
        case 10: set_sequence(row, kCreatedAtForm, SequenceForm::kExternal, Bounds::unknown()); break;
        case 11: row[kNumOverlays] += 1; break;
        case 12: set_sequence(row, kRowIdsForm, SequenceForm::kHiddenColumn, Bounds::unknown()); break;
        case 13: set_sequence(row, kLastUpdatedAtForm, SequenceForm::kHiddenColumn, Bounds::unknown()); break;
        case 14: set_sequence(row, kCreatedAtForm, SequenceForm::kHiddenColumn, Bounds::unknown()); break;
        default: break;
    }
}

Row fragment_row(Bytes fragment, bool with_bounds) {
    Row row{};
    for (const FragmentColumn form : {kRowIdsForm, kCreatedAtForm, kLastUpdatedAtForm}) {
        set_sequence(row, form, SequenceForm::kNone, Bounds::unknown());
    }
    bool sizes_known = true;
    for (const WireField& field : WireReader(fragment)) {
        if (field.type == WireType::kVarint && field.number == 1) row[kId] = field.value;
        if (field.type == WireType::kVarint && field.number == 4) row[kPhysicalRows] = field.value;
        if (field.type == WireType::kBytes) add_bytes_field(row, field, sizes_known, with_bounds);
    }
    if (!sizes_known) row[kSizeBytes] = 0;
    return row;
}

}  // namespace

SplitManifest split_manifest(Bytes manifest) {
    SplitManifest split;
    WireReader fields(manifest);
    while (!fields.done()) {
        const int64_t start = fields.position();
        const WireField field = fields.next();
        const bool is_fragment = field.number == kManifestFragments && field.type == WireType::kBytes;
        const Bytes whole =
            manifest.subspan(static_cast<size_t>(start), static_cast<size_t>(fields.position() - start));
        auto& part = is_fragment ? split.fragments : split.rest;
        part.insert(part.end(), whole.begin(), whole.end());
    }
    return split;
}

std::vector<int64_t> fragment_table(Bytes fragments, bool with_bounds) {
    std::vector<int64_t> table;
    for (const WireField& record : WireReader(fragments)) {
        if (record.number != kManifestFragments || record.type != WireType::kBytes) {
            fail("field ", record.number, " of a manifest stands among its fragments");
        }
        Row row = fragment_row(record.bytes, with_bounds);
        row[kStart] = static_cast<uint64_t>(record.bytes.data() - fragments.data());
        row[kSize] = record.bytes.size();
        for (const uint64_t value : row) table.push_back(static_cast<int64_t>(value));
    }
    return table;
}

}  // namespace lance
