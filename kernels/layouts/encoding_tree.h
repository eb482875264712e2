// The encoding of the values of a page, as a tree.
#pragma once

#include <string>
#include <vector>

#include "encodings/compression.h"
#include "encodings/levels.h"
#include "system/unsupported.h"

namespace lance {

// By the number of the member of CompressiveEncoding.
enum class EncodingKind : int {
    kFlat = 1,
    kVariable = 2,
    kConstant = 3,
    kOutOfLineBitpacking = 4,
    kInlineBitpacking = 5,
    kFsst = 6,
    kRle = 8,
    kByteStreamSplit = 9,
    kGeneral = 10,
    kFixedSizeList = 11,
    kPackedStruct = 12,
    kVariablePackedStruct = 13,
};

struct EncodingTree {
    EncodingKind kind = EncodingKind::kFlat;
    int64_t bits = 0;           // of a value of kFlat, of an offset of kVariable, of a word of bit-packing
    int64_t packed_bits = 0;    // of kOutOfLineBitpacking
    int64_t dimension = 0;      // of kFixedSizeList
    bool has_validity = false;  // of kFixedSizeList: a bitmap of the items comes before them
    bool has_value = false;     // of kConstant
    Bytes symbol_table;         // of kFsst
    Compression compression = Compression::kLz4;  // of kGeneral
    std::vector<int64_t> fields;                  // of structs: bits of each field, or of its length
    std::vector<bool> have_length;                // of kVariablePackedStruct: whether a field follows its length
    std::vector<EncodingTree> children;           // values; then the lengths of runs, or those of all fields

    bool is(EncodingKind other) const { return kind == other; }
    bool is_flat(int64_t width) const { return kind == EncodingKind::kFlat && bits == width; }
    const EncodingTree& values() const { return children.at(0); }
};

// The tree of a message CompressiveEncoding, into which it points. Throws Unsupported for an encoding that is not known
// here, with its name.
EncodingTree parse_encoding(Bytes message, int depth = 0);

// The name of an encoding, and the words for all of its tree, from the outside.
std::string name_of(const EncodingTree& encoding);
std::string title_of(const EncodingTree& encoding);

// The encoding of levels in chunks. Throws Unsupported for others.
LevelEncoding levels_of(const EncodingTree& encoding);

}  // namespace lance
