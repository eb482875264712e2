// Source: message lance.encodings21.CompressiveEncoding and its members.
#include "layouts/encoding_tree.h"

#include <array>
#include <string_view>

#include "proto/fields.h"

namespace lance {

namespace {

using Kind = EncodingKind;

constexpr int kMostDepth = 32;
constexpr uint64_t kMostBits = uint64_t{1} << 32;
constexpr int kLastMember = 15;

struct Spelling {
    std::string_view message;
    std::string_view name;
    std::string_view words;
};

// By the number of the member.
constexpr std::array<Spelling, kLastMember + 1> kSpellings{{
    {},
    {"flat", "Flat", "flat"},
    {"variable", "Variable", "variable"},
    {"constant", "Constant", "constant"},
    {"out_of_line_bitpacking", "OutOfLineBitpacking", "out of line bitpacking"},
    {"inline_bitpacking", "InlineBitpacking", "inline bitpacking"},
    {"fsst", "Fsst", "fsst"},
    {"dictionary", {}, {}},
    {"rle", "Rle", "rle"},
    {"byte_stream_split", "ByteStreamSplit", "byte stream split"},
    {"general", "General", "general"},
    {"fixed_size_list", "FixedSizeList", "fixed size list"},
    {"packed_struct", "PackedStruct", "packed struct"},
    {"variable_packed_struct", "VariablePackedStruct", "variable packed struct"},
    {"range", {}, {}},
    {"delta", {}, {}},
}};

const Spelling& spelling_of(const EncodingTree& encoding) { return kSpellings[static_cast<size_t>(encoding.kind)]; }

int64_t width_of(uint64_t bits, Kind kind) {
    // fixed-size binaries may have zero bytes
    if (bits > kMostBits || (bits == 0 && kind != Kind::kFlat)) {
        fail("encoding '", kSpellings[static_cast<size_t>(kind)].message, "' with ", bits,
             " bits a value is not possible");
    }
    return static_cast<int64_t>(bits);
}

int64_t word_of(uint64_t bits) {
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        fail("bit-packing of ", bits, "-bit words is not possible");
    return static_cast<int64_t>(bits);
}

void refuse_inside(const Fields& fields, int member, Kind kind, std::string_view what) {
    if (fields.has_bytes(member)) {
        fail_unsupported("encoding '", kSpellings[static_cast<size_t>(kind)].message, "' with compressed ", what,
                         " is not supported");
    }
}

// A message that is not set is an empty one.
EncodingTree child_of(const Fields& fields, int member, int depth) {
    return parse_encoding(fields.bytes(member).value_or(Bytes()), depth + 1);
}

Compression scheme_of(Bytes message) {
    const uint64_t scheme = Fields(message).number(1);
    if (scheme == 1) return Compression::kLz4;
    if (scheme == 2) return Compression::kZstd;
    fail_unsupported("compression scheme ", scheme, " is not supported");
}

void read_out_of_line(const Fields& fields, EncodingTree& tree) {
    tree.bits = word_of(fields.number(1));
    if (!fields.has_bytes(3)) fail("encoding 'out_of_line_bitpacking' without values");
    const Fields values(*fields.bytes(3));
    if (values.last_of(1, kLastMember) != static_cast<int>(Kind::kFlat) || !values.has_bytes(1)) {
        fail_unsupported("encoding 'out_of_line_bitpacking' over anything but 'flat' is not supported");
    }
    const uint64_t bits = Fields(*values.bytes(1)).number(1);
    if (bits > static_cast<uint64_t>(tree.bits)) {
        fail("bit-packing of ", tree.bits, "-bit words into ", bits, " bits is not possible");
    }
    tree.packed_bits = static_cast<int64_t>(bits);
}

void read_packed_field(Bytes message, int depth, EncodingTree& tree) {
    const Fields field(message);
    tree.children.push_back(child_of(field, 1, depth));
    const int layout = field.last_of(2, 3);
    const uint64_t bits = field.number(layout == 0 ? 2 : layout);
    if (layout == 2) {
        if (width_of(bits, Kind::kVariablePackedStruct) % 8 != 0) {
            fail("a packed field of ", bits, " bits is not byte aligned");
        }
    } else if (layout == 0) {
        fail("a packed field without a width");
    } else if (bits != 32 && bits != 64) {
        fail("a packed field with lengths of ", bits, " bits is not possible");
    }
    tree.fields.push_back(static_cast<int64_t>(bits));
    tree.have_length.push_back(layout == 3);
}

void read_members(const Fields& fields, int depth, EncodingTree& tree) {
    switch (tree.kind) {
        case Kind::kFlat:
            refuse_inside(fields, 2, tree.kind, "data");
            tree.bits = width_of(fields.number(1), tree.kind);
            return;
        case Kind::kVariable: {
            refuse_inside(fields, 2, tree.kind, "values");
            const EncodingTree offsets = child_of(fields, 1, depth);
            if (!offsets.is_flat(32) && !offsets.is_flat(64)) {
                fail_unsupported("offsets encoded as ", name_of(offsets), " are not supported");
            }
            tree.bits = offsets.bits;
            return;
        }
        case Kind::kConstant: tree.has_value = fields.has_bytes(1); return;
        case Kind::kOutOfLineBitpacking: read_out_of_line(fields, tree); return;
        case Kind::kInlineBitpacking:
            refuse_inside(fields, 2, tree.kind, "values");
            tree.bits = word_of(fields.number(1));
            return;
        case Kind::kFsst:
            tree.symbol_table = fields.bytes(1).value_or(Bytes());
            tree.children.push_back(child_of(fields, 2, depth));
            return;
        case Kind::kRle:
            tree.children.push_back(child_of(fields, 1, depth));
            tree.children.push_back(child_of(fields, 2, depth));
            return;
        case Kind::kByteStreamSplit: tree.children.push_back(child_of(fields, 1, depth)); return;
        case Kind::kGeneral:
            tree.compression = scheme_of(fields.bytes(1).value_or(Bytes()));
            tree.children.push_back(child_of(fields, 3, depth));
            return;
        case Kind::kFixedSizeList: {
            const uint64_t dimension = fields.number(1);
            if (dimension == 0 || dimension > kMostBits) {
                fail("a fixed-size list of ", dimension, " items is not possible");
            }
            tree.dimension = static_cast<int64_t>(dimension);
            tree.has_validity = fields.flag(3);
            tree.children.push_back(child_of(fields, 2, depth));
            return;
        }
        case Kind::kPackedStruct:
            for (const uint64_t bits : fields.all_numbers(1)) tree.fields.push_back(width_of(bits, tree.kind));
            tree.children.push_back(child_of(fields, 2, depth));
            return;
        case Kind::kVariablePackedStruct:
            for (const Bytes field : fields.all_bytes(1)) read_packed_field(field, depth, tree);
            return;
    }
}

}  // namespace

EncodingTree parse_encoding(Bytes message, int depth) {
    if (depth > kMostDepth) fail("encodings are nested more than ", kMostDepth, " deep");
    const Fields member(message);
    const int number = member.last_of(1, kLastMember);
    if (number == 0 || !member.has_bytes(number)) {
        fail_unsupported("an encoding that this release does not support (no known member is set)");
    }
    const Spelling& spelling = kSpellings[static_cast<size_t>(number)];
    if (spelling.name.empty()) fail_unsupported("encoding '", spelling.message, "' is not supported");
    EncodingTree tree;
    tree.kind = static_cast<Kind>(number);
    read_members(Fields(*member.bytes(number)), depth, tree);
    return tree;
}

std::string name_of(const EncodingTree& encoding) { return std::string(spelling_of(encoding).name); }

std::string title_of(const EncodingTree& encoding) {
    std::string title(spelling_of(encoding).words);
    if (encoding.has_validity) title += " with NULL items";
    if (encoding.children.empty() || encoding.is(Kind::kVariablePackedStruct)) return title;
    return title + " of " + title_of(encoding.values());
}

LevelEncoding levels_of(const EncodingTree& encoding) {
    if (encoding.is_flat(16)) return {LevelCodec::kFlat16, 16};
    if (encoding.bits == 16 && encoding.is(Kind::kOutOfLineBitpacking)) {
        return {LevelCodec::kPacked, encoding.packed_bits};
    }
    if (encoding.bits == 16 && encoding.is(Kind::kInlineBitpacking)) return {LevelCodec::kInlinePacked, 16};
    if (encoding.is(Kind::kRle) && encoding.children[0].is_flat(16) && encoding.children[1].is_flat(8)) {
        return {LevelCodec::kRle, 16};
    }
    fail_unsupported("levels encoded as ", name_of(encoding), " are not supported");
}

}  // namespace lance
