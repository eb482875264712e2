// Source: message lance.encodings21.PageLayout and its members.
#include "layouts/page_layout.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "proto/fields.h"

namespace lance {

namespace {

constexpr std::string_view kPageLayout = "lance.encodings21.PageLayout";
constexpr size_t kMostLayers = 256;
constexpr uint64_t kMostChunkBuffers = 64;
constexpr uint64_t kMostItems = uint64_t{1} << 48;

constexpr int kAllValidItem = 1;
constexpr int kAllValidList = 2;
constexpr int kNullableItem = 3;
constexpr int kEmptyableList = 5;
constexpr int kNullAndEmptyList = 6;

constexpr int kMiniBlock = 1;
constexpr int kConstant = 2;
constexpr int kFullZip = 3;
constexpr int kBlob = 4;

Layers layers_of(const Fields& fields, int member) {
    Layers layers;
    for (const uint64_t each : fields.all_numbers(member)) {
        if (each < kAllValidItem || each > kNullAndEmptyList) {
            fail_unsupported("a layer of kind ", each, " is not supported");
        }
        layers.push_back({static_cast<int>(each)});
    }
    if (layers.empty() || layers.size() > kMostLayers) {
        fail("a page with ", layers.size(), " layers of nesting is not possible");
    }
    return layers;
}

std::optional<EncodingTree> encoding_of(const Fields& fields, int member) {
    const std::optional<Bytes> message = fields.bytes(member);
    return message ? std::optional(parse_encoding(*message)) : std::nullopt;
}

// Values without a message have an empty one, which is refused.
EncodingTree values_of(const Fields& fields, int member) {
    return parse_encoding(fields.bytes(member).value_or(Bytes()));
}

MiniBlockLayout mini_block(const Fields& fields) {
    const uint64_t num_buffers = fields.number(7);
    if (num_buffers == 0 || num_buffers > kMostChunkBuffers) {
        fail(num_buffers, " value buffers in a chunk are not possible");
    }
    const uint64_t most_items = std::max(fields.number(9), fields.number(5));
    if (most_items > kMostItems) fail(most_items, " items in a page are not possible");
    if (fields.number(8) > 1) {
        fail_unsupported("a repetition index of depth ", fields.number(8), " is not supported");
    }
    MiniBlockLayout page{layers_of(fields, 6),
                         values_of(fields, 3),
                         encoding_of(fields, 1),
                         encoding_of(fields, 2),
                         encoding_of(fields, 4),
                         static_cast<int64_t>(fields.number(5)),
                         static_cast<int64_t>(fields.number(8)),
                         static_cast<int64_t>(fields.number(9)),
                         {fields.flag(10), false, false, static_cast<int64_t>(num_buffers)}};
    page.shape.has_rep = page.repetition.has_value();
    page.shape.has_def = page.definition.has_value();
    return page;
}

FullZipLayout full_zip(const Fields& fields) {
    const int details = fields.last_of(3, 4);
    if (details == 0) fail("a full-zip page without a width of its values");
    const auto bits_rep = static_cast<uint32_t>(fields.number(1));
    const auto bits_def = static_cast<uint32_t>(fields.number(2));
    if (uint64_t{bits_rep} + bits_def > 32) {
        fail("control words of ", uint64_t{bits_rep} + bits_def, " bits are not possible");
    }
    const auto bits = static_cast<uint32_t>(fields.number(details));
    if (details == 3 && bits % 8 != 0) fail("full-zip values of ", bits, " bits are not byte aligned");
    if (details == 4 && bits != 32 && bits != 64) fail("full-zip lengths of ", bits, " bits are not possible");
    const int64_t num_bytes = bits / 8;
    return {layers_of(fields, 8),         values_of(fields, 7),        bits_rep, bits_def,
            details == 3 ? num_bytes : 0, details == 4 ? num_bytes : 0};
}

ConstantLayout constant(const Fields& fields) {
    const uint64_t most_levels = std::max(fields.number(9), fields.number(10));
    if (most_levels > kMostItems) fail(most_levels, " levels in a page are not possible");
    return {layers_of(fields, 5),
            fields.bytes(6),
            encoding_of(fields, 7),
            encoding_of(fields, 8),
            static_cast<int64_t>(fields.number(9)),
            static_cast<int64_t>(fields.number(10))};
}

PageLayout layout_of(Bytes message, bool is_inside) {
    const Fields member(message);
    const int number = member.last_of(1, Fields::kMost);
    const Bytes inside = number == 0 ? Bytes() : member.bytes(number).value_or(Bytes());
    switch (number) {
        case kMiniBlock: return {mini_block(Fields(inside))};
        case kConstant: return {constant(Fields(inside))};
        case kFullZip: return {full_zip(Fields(inside))};
        case kBlob: {
            if (is_inside) fail("a blob layout inside a blob layout");
            const Fields blob(inside);
            auto inner = std::make_unique<const PageLayout>(layout_of(blob.bytes(1).value_or(Bytes()), true));
            return {BlobLayout{layers_of(blob, 2), std::move(inner)}};
        }
        default: fail_unsupported("a page layout that this release does not know is not supported");
    }
}

// All but some of the buffers.
std::vector<size_t> all_but(size_t num_buffers, size_t left_out) {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < num_buffers; ++i) {
        if (i != left_out) numbers.push_back(i);
    }
    return numbers;
}

std::vector<size_t> head_of(const MiniBlockLayout& layout, size_t num_buffers) {
    const size_t expected = 2 + layout.dictionary.has_value() + (layout.repetition_index_depth > 0);
    if (num_buffers != expected) fail("a mini-block page with ", num_buffers, " buffers, expected ", expected);
    return all_but(num_buffers, 1);
}

std::vector<size_t> head_of(const FullZipLayout& layout, size_t num_buffers) {
    const size_t expected = 1 + (max_repetition(layout.layers) > 0 || layout.length_bytes > 0);
    if (num_buffers != expected) fail("a full-zip page with ", num_buffers, " buffers, expected ", expected);
    return all_but(num_buffers, 0);
}

std::vector<size_t> head_of(const ConstantLayout& layout, size_t num_buffers) {
    const bool is_stored = num_buffers == 1 || num_buffers == 3;
    if (num_buffers > 3 || (is_stored && layout.inline_value)) fail("a constant page with ", num_buffers, " buffers");
    return all_but(num_buffers, num_buffers);
}

std::vector<size_t> head_of(const BlobLayout& layout, size_t num_buffers) {
    return head_buffers(*layout.inner, num_buffers);
}

}  // namespace

bool Layer::is_list() const { return number != kAllValidItem && number != kNullableItem; }

int64_t Layer::num_levels() const {
    if (number == kNullAndEmptyList) return 2;
    return number == kAllValidItem || number == kAllValidList ? 0 : 1;
}

bool Layer::has_empty_lists() const { return number == kEmptyableList || number == kNullAndEmptyList; }

const char* Layer::name() const {
    constexpr const char* kNames[] = {"",
                                      "ALL_VALID_ITEM",
                                      "ALL_VALID_LIST",
                                      "NULLABLE_ITEM",
                                      "NULLABLE_LIST",
                                      "EMPTYABLE_LIST",
                                      "NULL_AND_EMPTY_LIST"};
    return kNames[number];
}

int64_t max_repetition(const Layers& layers) { return std::ranges::count_if(layers, &Layer::is_list); }

int64_t max_definition(const Layers& layers) {
    return std::accumulate(layers.begin(), layers.end(), int64_t{0},
                           [](int64_t levels, Layer each) { return levels + each.num_levels(); });
}

std::string names_of(const Layers& layers) {
    std::string names = "[";
    for (const Layer each : layers) {
        if (names.size() > 1) names += ", ";
        names += std::string("'") + each.name() + "'";
    }
    return names + "]";
}

PageLayout parse_page_layout(Bytes message) {
    const Fields any(message);
    const Bytes url = any.bytes(1).value_or(Bytes());
    std::string_view name(reinterpret_cast<const char*>(url.data()), url.size());
    name = name.substr(name.rfind('/') + 1);
    if (name != kPageLayout) fail_unsupported("page encoding '", name, "' is not supported");
    return layout_of(any.bytes(2).value_or(Bytes()), false);
}

std::vector<size_t> head_buffers(const PageLayout& layout, size_t num_buffers) {
    return std::visit([&](const auto& each) { return head_of(each, num_buffers); }, layout.kind);
}

}  // namespace lance
