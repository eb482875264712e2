// The layout of a page: its message as values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "encodings/chunks.h"
#include "layouts/encoding_tree.h"

namespace lance {

// A layer of nesting, with the kinds of absence of its slots; layers are listed from the inside.
struct Layer {
    int number;

    bool is_list() const;
    // How many definition levels it takes.
    int64_t num_levels() const;
    bool has_empty_lists() const;
    const char* name() const;
};
using Layers = std::vector<Layer>;

// The repetition level that starts a row, and the largest definition level.
int64_t max_repetition(const Layers& layers);
int64_t max_definition(const Layers& layers);
// "['NULLABLE_ITEM', 'EMPTYABLE_LIST']"
std::string names_of(const Layers& layers);

struct MiniBlockLayout {
    Layers layers;
    EncodingTree values;
    std::optional<EncodingTree> repetition;
    std::optional<EncodingTree> definition;
    std::optional<EncodingTree> dictionary;
    int64_t num_dictionary_items;
    int64_t repetition_index_depth;
    int64_t num_items;
    ChunkShape shape;
};

struct FullZipLayout {
    Layers layers;
    EncodingTree values;
    int64_t bits_rep;
    int64_t bits_def;
    int64_t value_bytes;   // of fixed width
    int64_t length_bytes;  // of variable width, otherwise 0
};

struct ConstantLayout {
    Layers layers;
    std::optional<Bytes> inline_value;
    std::optional<EncodingTree> repetition;
    std::optional<EncodingTree> definition;
    int64_t num_rep_values;
    int64_t num_def_values;
};

struct PageLayout;

// A page of the places of values elsewhere in the file.
struct BlobLayout {
    Layers layers;
    std::unique_ptr<const PageLayout> inner;
};

struct PageLayout {
    std::variant<MiniBlockLayout, FullZipLayout, ConstantLayout, BlobLayout> kind;
};

// The layout of a message, into which it points: a PageLayout inside a google.protobuf.Any. Throws Unsupported for a
// layout, an encoding or a layer that is not known here.
PageLayout parse_page_layout(Bytes message);

// The numbers of the buffers that a page is opened with: chunk words, dictionaries, indices of rows, values and levels
// of constants. Fails if the layout cannot have this many buffers.
std::vector<size_t> head_buffers(const PageLayout& layout, size_t num_buffers);

}  // namespace lance
