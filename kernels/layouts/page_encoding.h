// What the message of a page says of its values, for the pages that are opened without Python.
#pragma once

#include <optional>
#include <variant>

#include "encodings/chunks.h"
#include "encodings/compression.h"
#include "encodings/levels.h"
#include "encodings/value_codec.h"

namespace lance {

// The encoding of values inside chunks.
struct ValueEncoding {
    ValueCodec codec;
    int64_t bits;                            // of a value, a word or an offset
    Bytes symbol_table;                      // of kFsst
    int64_t list_size = 0;                   // items of a value that is a list; 0: values are no lists
    std::optional<Compression> compression;  // of the chunks
};

// Items of a dictionary in one buffer: values of fixed width, or byte strings.
struct DictionaryEncoding {
    int64_t num_items;
    bool variable;
    int64_t bits;                                           // of an item, or of an offset
    std::optional<Compression> compression = std::nullopt;  // of the buffer
};

// A mini-block page of values that are NULL or not, without any nesting.
struct FlatPage {
    ChunkShape shape;
    int64_t num_items;
    ValueEncoding values;
    std::optional<LevelEncoding> definition;  // none: no value is NULL
    std::optional<DictionaryEncoding> dictionary;
};

// A page of one value, which may be in a buffer, or of NULLs only; levels in buffers are not compressed.
struct ConstantPage {
    std::optional<Bytes> value;
    bool nullable;
};

// A full-zip page of values that are NULL or not, without any nesting.
struct ZipPage {
    ValueEncoding values;
    int64_t bits_def;
    int64_t num_levels;    // 1 if values may be NULL, otherwise 0
    int64_t value_bytes;   // of fixed width, otherwise 0
    int64_t length_bytes;  // of variable width, otherwise 0
};

using PageEncoding = std::variant<std::monostate, FlatPage, ConstantPage, ZipPage>;

// Nothing for all other pages, and for messages with a field that is not known here: Python reads these, or says what
// is wrong with them. The result refers to the message.
PageEncoding parse_page_encoding(Bytes message);

}  // namespace lance
