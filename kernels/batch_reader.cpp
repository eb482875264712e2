#include "batch_reader.h"

#include <utility>

namespace lance {

namespace {

int64_t count_flags(Bytes flags) {
    int64_t count = 0;
    size_t i = 0;
    // Bytes are added up side by side, so often that none of them overflows.
    while (i + 8 <= flags.size()) {
        uint64_t sums = 0;
        for (int k = 0; k < 255 && i + 8 <= flags.size(); ++k, i += 8) sums += load<uint64_t>(flags.data() + i);
        const uint64_t pairs = (sums & 0x00FF00FF00FF00FF) + (sums >> 8 & 0x00FF00FF00FF00FF);
        count += static_cast<int64_t>((pairs * 0x0001000100010001) >> 48);
    }
    for (; i < flags.size(); ++i) count += flags[i];
    return count;
}

// What has been made is let go of when a later column fails.
class Arrays {
  public:
    Arrays() = default;
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;
    ~Arrays() {
        for (ArrowArray& array : arrays_) array.release(&array);
    }

    void add(ColumnBuilder& builder) {
        arrays_.reserve(arrays_.size() + 1);
        ArrowArray array;
        builder.finish(array);
        arrays_.push_back(array);
    }
    std::vector<ArrowArray> take() { return std::exchange(arrays_, {}); }

  private:
    std::vector<ArrowArray> arrays_;
};

// Calls append(part, builder, count) for each part of a column, which becomes one array.
template <class NumRows, class Append>
std::vector<ArrowArray> make_arrays(const std::vector<ColumnParts>& columns, NumRows num_rows, Append append) {
    Arrays arrays;
    for (size_t column = 0; column < columns.size(); ++column) {
        const std::vector<PagePart>& parts = columns[column].parts;
        size_t i = 0;
        try {
            if (parts.empty()) fail("an array of no pages");
            const ColumnFormat format = parts[0].page->format();
            for (; i < parts.size(); ++i) {
                if (parts[i].page->format() != format) fail("pages of several formats in one array");
                parts[i].page->require_bytes(parts[i].bytes, parts[i].rows.num_items());
            }
            i = 0;
            const int64_t expected = num_rows(columns[column]);
            ColumnBuilder builder(format, expected);
            int64_t position = columns[column].position;
            for (; i < parts.size(); ++i) {
                append(parts[i], position, builder);
                position += parts[i].rows.num_items();
            }
            i = 0;
            if (builder.num_rows() != expected) fail(expected, " rows became ", builder.num_rows());
            arrays.add(builder);
        } catch (const std::invalid_argument& error) {
            throw PageFailure(false, column, i, error.what());
        }
    }
    return arrays.take();
}

int64_t num_rows_of(const ColumnParts& column) {
    int64_t num_rows = 0;
    for (const PagePart& part : column.parts) num_rows += part.rows.num_items();
    return num_rows;
}

Bytes part_of(Bytes flags, int64_t position, int64_t count) {
    if (position > size_of(flags) || count > size_of(flags) - position) fail("rows outside of the batch");
    return flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count));
}

}  // namespace

int64_t test_rows(const std::vector<TestedColumn>& tests, MutableBytes flags) {
    for (size_t column = 0; column < tests.size(); ++column) {
        for (size_t i = 0; i < tests[column].size(); ++i) {
            const auto& [part, test, position] = tests[column][i];
            const int64_t count = part.rows.num_items();
            try {
                if (position > size_of(flags) || count > size_of(flags) - position) fail("rows outside of the batch");
                part.page->mask(part.bytes, part.rows, *test,
                                flags.subspan(static_cast<size_t>(position), static_cast<size_t>(count)));
            } catch (const std::invalid_argument& error) {
                throw PageFailure(true, column, i, error.what());
            }
        }
    }
    return count_flags(flags);
}

std::vector<ArrowArray> read_rows(const std::vector<ColumnParts>& columns) {
    return make_arrays(columns, num_rows_of, [](const PagePart& part, int64_t, ColumnBuilder& out) {
        part.page->read(part.bytes, part.rows, out);
    });
}

std::vector<ArrowArray> take_rows(const std::vector<ColumnParts>& columns, Bytes flags) {
    const auto num_flags = [&](const ColumnParts& column) {
        return count_flags(part_of(flags, column.position, num_rows_of(column)));
    };
    return make_arrays(columns, num_flags, [&](const PagePart& part, int64_t position, ColumnBuilder& out) {
        const Bytes here = part_of(flags, position, part.rows.num_items());
        part.page->take(part.bytes, part.rows, here, count_flags(here), out);
    });
}

}  // namespace lance
