// Rows of one fragment that are read batch by batch: tests first, then the columns of the rows that are left.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "arrow/held_arrays.h"
#include "arrow/shared_arrow.h"
#include "file/batch_reader.h"
#include "predicates/zone_bounds.h"
#include "stream/batch_shape.h"
#include "stream/lent_values.h"

namespace lance {

// Form of the values of a column from a row on: indices of items, or strings that become indices.
struct StreamedItems {
    int64_t first_row;
    std::variant<SharedArray, int64_t> items;  // or the bits of the strings' offsets
};

// A column of a data file in a stream.
struct StreamedColumn {
    const ColumnReader* reader;
    FileParts parts;
    bool nullable;                     // whether what it is the first column of may be NULL in a batch
    std::vector<StreamedItems> items;  // ascending; none if values are passed unchanged
    std::vector<LentBytes> lent;       // of parts whose values may be passed unchanged
    bool is_json = false;              // whether values are documents, of which batches have the texts
};

struct StreamedTest {
    const ColumnReader* reader;
    FileParts parts;
    const std::vector<PageAnswer>* answers;
    ZoneBounds* learned;  // statistics to learn for the column, if any
};

struct StreamedPair {
    const ColumnReader* left;
    FileParts left_parts;
    const ColumnReader* right;
    FileParts right_parts;
    PairComparison comparison;
};

// Inputs of the steps of a filter.
struct StreamedFilter {
    std::vector<StreamedTest> tests;
    std::vector<StreamedPair> pairs;
    FilterSteps steps;  // tests for rows, nothing without any
};

// The rest of a filter, which is evaluated elsewhere, on values of the rows that have passed all steps.
struct StreamedEvaluation {
    std::vector<StreamedColumn> columns;
    std::vector<StreamedShape> shapes;
    std::vector<size_t> kept_at;  // the places in a batch of those that it keeps, ascending
};

// The rows of such a batch that pass the rest as well.
struct EvaluatedRows {
    int64_t num_rows = 0;
    std::vector<uint8_t> flags;  // of all rows; none where all of them pass
    HeldArrays kept;             // columns of the rows that pass
};

// Rows of one fragment, cut into batches. What it points at lives as long as it does.
class FragmentRows {
  public:
    // rows: int64 pairs; ends: how many of the rows come before the end of each batch, all of whose values are indices
    // of the same items; shapes: each column is in one; most_joined: rows of batches that may be read as one
    FragmentRows(Bytes rows, Bytes ends, StreamedFilter filter, std::optional<StreamedEvaluation> evaluation,
                 std::vector<StreamedColumn> columns, std::vector<StreamedShape> shapes, int64_t most_joined);
    virtual ~FragmentRows() = default;

    int64_t num_batches() const { return static_cast<int64_t>(ends_.size()); }

    // Rows of some batches that follow each other, before any is tested.
    int64_t num_rows(int64_t first, int64_t end) const { return ends_[static_cast<size_t>(end) - 1] - start_of(first); }

    // End of the batches that can be read together if few rows pass the filter.
    int64_t end_of_joined(int64_t first) const;

    // The rows of batches [first, end) that pass the filter, as a struct; nothing where none does. Throws PageFailure,
    // in which columns of an evaluation are behind the others.
    std::optional<ArrowArray> read(int64_t first, int64_t end) const;

  protected:
    // Takes over a struct of the columns of the evaluation.
    virtual EvaluatedRows evaluate(ArrowArray values) const;

  private:
    int64_t start_of(int64_t batch) const { return batch == 0 ? 0 : ends_[static_cast<size_t>(batch) - 1]; }
    std::vector<int64_t> rows_of(int64_t first, int64_t end) const;
    bool begins_items(int64_t position) const;
    HeldArrays read_passing(const std::vector<StreamedColumn>& columns, const std::vector<StreamedShape>& shapes,
                            const std::vector<int64_t>& chosen, MutableBytes flags, int64_t& num_rows) const;
    HeldArrays read_evaluated(const std::vector<int64_t>& chosen, MutableBytes flags, int64_t& num_rows) const;
    HeldArrays read_flagged(const std::vector<int64_t>& chosen, MutableBytes flags, int64_t num_rows) const;

    std::vector<int64_t> rows_;
    std::vector<int64_t> before_;  // rows before each range
    std::vector<int64_t> ends_;
    StreamedFilter filter_;
    std::optional<StreamedEvaluation> evaluation_;
    std::vector<StreamedColumn> columns_;
    std::vector<StreamedShape> shapes_;
    int64_t most_joined_;
};

// For a column with a NULL that may not have one; the page is unknown.
constexpr size_t kUnknownPage = SIZE_MAX;

}  // namespace lance
