// The values of a page that have parts, one after the other, and their encoding.
#pragma once

#include <vector>

#include "encodings/compression.h"
#include "layouts/value_shape.h"

namespace lance {

// How a value is composed. Values of one width: kNumbers, kLists, kFields, kNulls. Byte strings: kStrings, kSymbols,
// kCompressed, kPacked, kNulls.
struct CellEncoding {
    enum class Kind { kNulls, kNumbers, kLists, kFields, kStrings, kSymbols, kCompressed, kPacked };

    Kind kind = Kind::kNulls;
    int64_t bits = 0;           // of kNumbers
    int64_t dimension = 0;      // of kLists
    bool has_validity = false;  // kLists: a bitmap of the items comes before them
    Bytes symbol_table;         // of kSymbols
    Compression compression = Compression::kLz4;
    std::vector<CellEncoding> children;  // items, fields, or what is compressed
    // of kPacked: the bits of each field of fixed width, or of the length of a byte string
    std::vector<int64_t> field_bits;

    bool is_variable() const { return kind >= Kind::kStrings; }
};

// Fails if values of the encoding cannot become the shape.
void check_fit(const CellEncoding& encoding, const ValueShape& shape);

// The bits of a value of one width, in chunks without padding.
int64_t bits_of(const CellEncoding& encoding);
// The bytes of a value of one width whose parts begin at whole bytes.
int64_t bytes_of_cell(const CellEncoding& encoding);

// The lists around items, from the outside: bitmaps of the items of each, without gaps, or null; and the items.
struct ListCells {
    std::vector<const uint8_t*> bitmaps;
    const uint8_t* items = nullptr;
};
void append_lists(const CellEncoding& encoding, const ListCells& cells, int64_t count, const uint8_t* validity,
                  ValueBuilder& out);

// Numbers without gaps; lists of them may be stored as one.
void append_numbers(const uint8_t* data, int64_t bits, int64_t count, const uint8_t* validity, ValueBuilder& out);

// Values of one width whose parts begin at whole bytes: count x bytes_of_cell(encoding).
void append_cells(const CellEncoding& encoding, const uint8_t* data, int64_t count, const uint8_t* validity,
                  ValueBuilder& out);

// Byte strings: value i is bytes [offsets[i], offsets[i + 1]).
struct StringCells {
    std::vector<int64_t> offsets{0};
    Bytes data;

    int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
    Bytes value(int64_t i) const {
        const auto at = static_cast<size_t>(i);
        return data.subspan(static_cast<size_t>(offsets[at]), static_cast<size_t>(offsets[at + 1] - offsets[at]));
    }
};
void append_strings(const CellEncoding& encoding, const StringCells& cells, const uint8_t* validity, ValueBuilder& out);

}  // namespace lance
