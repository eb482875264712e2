// Source: messages lance.encodings21.PageLayout and CompressiveEncoding, inside a google.protobuf.Any.
#include "layouts/page_encoding.h"

#include <string_view>

#include "proto/wire.h"

namespace lance {

namespace {

constexpr std::string_view kPageLayout = "lance.encodings21.PageLayout";
constexpr int64_t kSymbolTableBytes = 2312;
constexpr uint64_t kMostBits = uint64_t{1} << 32;
constexpr uint64_t kMostItems = uint64_t{1} << 48;
constexpr uint64_t kMostDictionaryItems = uint64_t{1} << 31;
constexpr uint64_t kMostChunkBuffers = 64;
constexpr uint64_t kMostLevelBits = 16;
constexpr uint64_t kAllValidItem = 1;
constexpr uint64_t kNullableItem = 3;
constexpr int kMostFields = 16;

// The fields of a message by number, each at most once and of a known type.
class Fields {
  public:
    // numbers, bytes: a bit for each field number that is a varint, or has a length
    Fields(Bytes message, uint32_t numbers, uint32_t bytes) {
        WireReader reader(message);
        while (!reader.done()) {
            const WireField field = reader.next();
            const uint32_t bit = field.number < kMostFields ? uint32_t{1} << field.number : 0;
            const uint32_t expected = field.type == WireType::kVarint  ? numbers
                                      : field.type == WireType::kBytes ? bytes
                                                                       : 0;
            if ((bit & expected) == 0 || (bit & seen_) != 0) {
                is_known_ = false;
                return;
            }
            seen_ |= bit;
            values_[field.number] = field.value;
            bytes_[field.number] = field.bytes;
            if (field.type == WireType::kBytes) have_bytes_ |= bit;
        }
    }

    bool is_known() const { return is_known_; }
    bool has(int number) const { return (seen_ >> number & 1) != 0; }
    uint64_t number(int field) const { return has(field) ? values_[field] : 0; }
    std::optional<Bytes> bytes(int field) const { return has(field) ? std::optional(bytes_[field]) : std::nullopt; }

    // The only number of a repeated field, which writers may store packed or not; 0 if there are several.
    uint64_t only_number(int field) const {
        if (!has(field) || (have_bytes_ >> field & 1) == 0) return number(field);
        WireReader packed(bytes_[field]);
        const uint64_t first = packed.done() ? 0 : packed.varint();
        return packed.done() ? first : 0;
    }

  private:
    uint64_t values_[kMostFields];
    Bytes bytes_[kMostFields];
    uint32_t seen_ = 0;
    uint32_t have_bytes_ = 0;
    bool is_known_ = true;
};

constexpr uint32_t fields(std::initializer_list<int> numbers) {
    uint32_t bits = 0;
    for (const int each : numbers) bits |= uint32_t{1} << each;
    return bits;
}

// The member of a CompressiveEncoding: its field number, 0 for an unknown one, and its message.
struct Member {
    int64_t number = 0;
    Bytes message;
};

// The numbers of members of CompressiveEncoding.
constexpr int kFlat = 1;
constexpr int kVariable = 2;
constexpr int kOutOfLineBitpacking = 4;
constexpr int kInlineBitpacking = 5;
constexpr int kFsst = 6;
constexpr int kRle = 8;
constexpr int kByteStreamSplit = 9;
constexpr int kGeneral = 10;
constexpr int kFixedSizeList = 11;

Member member_of(std::optional<Bytes> encoding) {
    if (!encoding) return {};
    WireReader reader(*encoding);
    if (reader.done()) return {};
    const WireField field = reader.next();
    if (!reader.done() || field.type != WireType::kBytes) return {};
    return {field.number, field.bytes};
}

// 0 for another encoding.
int64_t flat_bits(std::optional<Bytes> encoding) {
    const Member member = member_of(encoding);
    if (member.number != kFlat) return 0;
    const Fields flat(member.message, fields({1}), 0);
    return flat.is_known() && flat.number(1) <= kMostBits ? static_cast<int64_t>(flat.number(1)) : 0;
}

bool is_word(int64_t bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; }

// 0 for another encoding.
int64_t offset_bits(const Member& member) {
    if (member.number != kVariable) return 0;
    const Fields variable(member.message, 0, fields({1}));
    const int64_t bits = variable.is_known() ? flat_bits(variable.bytes(1)) : 0;
    return bits == 32 || bits == 64 ? bits : 0;
}

std::optional<Compression> scheme_of(std::optional<Bytes> message) {
    if (!message) return std::nullopt;
    const Fields compression(*message, fields({1, 2}), 0);
    if (!compression.is_known()) return std::nullopt;
    switch (compression.number(1)) {
        case 1: return Compression::kLz4;
        case 2: return Compression::kZstd;
        default: return std::nullopt;
    }
}

std::optional<ValueEncoding> values_of(const Member& member, bool is_compressed);

std::optional<ValueEncoding> compressed_values(Bytes message) {
    const Fields general(message, 0, fields({1, 3}));
    if (!general.is_known()) return std::nullopt;
    const std::optional<Compression> scheme = scheme_of(general.bytes(1));
    std::optional<ValueEncoding> values = values_of(member_of(general.bytes(3)), true);
    if (!scheme || !values) return std::nullopt;
    values->compression = scheme;
    return values;
}

std::optional<ValueEncoding> lists(Bytes message) {
    const Fields list(message, fields({1, 3}), fields({2}));
    const int64_t bits = list.is_known() ? flat_bits(list.bytes(2)) : 0;
    const uint64_t size = list.number(1);
    if (bits == 0 || bits % 8 != 0 || list.number(3) != 0 || size == 0 || size > kMostBits) return std::nullopt;
    if (static_cast<uint64_t>(bits) > kMostBits / size) return std::nullopt;
    const auto items = static_cast<int64_t>(size);
    return ValueEncoding{ValueCodec::kFlat, items * bits, {}, items, std::nullopt};
}

std::optional<ValueEncoding> plain(ValueCodec codec, int64_t bits) { return ValueEncoding{codec, bits, {}, 0, {}}; }

std::optional<ValueEncoding> values_of(const Member& member, bool is_compressed) {
    switch (member.number) {
        case kFlat: {
            const Fields flat(member.message, fields({1}), 0);
            const uint64_t bits = flat.is_known() ? flat.number(1) : 0;
            if (bits == 0 || bits > kMostBits || (bits != 1 && bits % 8 != 0)) return std::nullopt;
            return plain(ValueCodec::kFlat, static_cast<int64_t>(bits));
        }
        case kVariable: {
            const int64_t bits = offset_bits(member);
            return bits == 0 ? std::nullopt : plain(ValueCodec::kVariable, bits);
        }
        case kInlineBitpacking: {
            const Fields packed(member.message, fields({1}), 0);
            const auto bits = static_cast<int64_t>(packed.is_known() ? std::min(packed.number(1), kMostBits) : 0);
            return is_word(bits) ? plain(ValueCodec::kInlineBitpacking, bits) : std::nullopt;
        }
        case kFsst: {
            const Fields fsst(member.message, 0, fields({1, 2}));
            if (!fsst.is_known() || !fsst.has(1) || size_of(*fsst.bytes(1)) != kSymbolTableBytes) return std::nullopt;
            const int64_t bits = offset_bits(member_of(fsst.bytes(2)));
            if (bits == 0) return std::nullopt;
            return ValueEncoding{ValueCodec::kFsst, bits, *fsst.bytes(1), 0, std::nullopt};
        }
        case kRle: {
            const Fields rle(member.message, 0, fields({1, 2}));
            if (!rle.is_known() || flat_bits(rle.bytes(2)) != 8) return std::nullopt;
            const int64_t bits = flat_bits(rle.bytes(1));
            return is_word(bits) ? plain(ValueCodec::kRle, bits) : std::nullopt;
        }
        case kByteStreamSplit: {
            const Fields split(member.message, 0, fields({1}));
            const int64_t bits = split.is_known() ? flat_bits(split.bytes(1)) : 0;
            const bool fits = bits == 128 || (is_word(bits) && bits != 8);
            return fits ? plain(ValueCodec::kByteStreamSplit, bits) : std::nullopt;
        }
        case kFixedSizeList: return lists(member.message);
        case kGeneral: return is_compressed ? std::nullopt : compressed_values(member.message);
        default: return std::nullopt;
    }
}

std::optional<LevelEncoding> levels_of(const Member& member) {
    switch (member.number) {
        case kFlat: {
            const Fields flat(member.message, fields({1}), 0);
            if (!flat.is_known() || flat.number(1) != 16) return std::nullopt;
            return LevelEncoding(LevelCodec::kFlat16, 16);
        }
        case kOutOfLineBitpacking: {
            const Fields packed(member.message, fields({1}), fields({3}));
            if (!packed.is_known() || packed.number(1) != 16 || !packed.has(3)) return std::nullopt;
            const int64_t bits = flat_bits(packed.bytes(3));
            if (bits == 0 || bits > 16) return std::nullopt;
            return LevelEncoding(LevelCodec::kPacked, bits);
        }
        case kInlineBitpacking: {
            const Fields packed(member.message, fields({1}), 0);
            if (!packed.is_known() || packed.number(1) != 16) return std::nullopt;
            return LevelEncoding(LevelCodec::kInlinePacked, 16);
        }
        case kRle: {
            const Fields rle(member.message, 0, fields({1, 2}));
            if (!rle.is_known() || flat_bits(rle.bytes(1)) != 16 || flat_bits(rle.bytes(2)) != 8) return std::nullopt;
            return LevelEncoding(LevelCodec::kRle, 16);
        }
        default: return std::nullopt;
    }
}

std::optional<DictionaryEncoding> dictionary_of(const Member& member, uint64_t num_items, bool is_compressed = false) {
    if (num_items > kMostDictionaryItems) return std::nullopt;
    if (member.number == kGeneral && !is_compressed) {
        const Fields general(member.message, 0, fields({1, 3}));
        if (!general.is_known()) return std::nullopt;
        const std::optional<Compression> scheme = scheme_of(general.bytes(1));
        std::optional<DictionaryEncoding> items = dictionary_of(member_of(general.bytes(3)), num_items, true);
        if (!scheme || !items) return std::nullopt;
        items->compression = scheme;
        return items;
    }
    const auto count = static_cast<int64_t>(num_items);
    if (member.number == kVariable) {
        const int64_t bits = offset_bits(member);
        return bits == 0 ? std::nullopt : std::optional(DictionaryEncoding{count, true, bits});
    }
    const Fields flat(member.message, fields({1}), 0);
    const uint64_t bits = member.number == kFlat && flat.is_known() ? flat.number(1) : 0;
    if (bits == 0 || bits > kMostBits || bits % 8 != 0) return std::nullopt;
    return DictionaryEncoding{count, false, static_cast<int64_t>(bits)};
}

PageEncoding mini_block(Bytes message) {
    const Fields page(message, fields({5, 6, 7, 8, 9, 10}), fields({1, 2, 3, 4, 6}));
    if (!page.is_known() || page.has(1) || page.number(8) != 0) return {};
    const uint64_t layer = page.only_number(6);
    if (layer != kAllValidItem && layer != kNullableItem) return {};
    const uint64_t num_buffers = page.number(7);
    if (num_buffers == 0 || num_buffers > kMostChunkBuffers || page.number(9) > kMostItems) return {};
    const std::optional<ValueEncoding> values = values_of(member_of(page.bytes(3)), false);
    if (!values) return {};
    FlatPage flat{{page.number(10) != 0, false, page.has(2), static_cast<int64_t>(num_buffers)},
                  static_cast<int64_t>(page.number(9)),
                  *values,
                  std::nullopt,
                  std::nullopt};
    if (page.has(2)) {
        const std::optional<LevelEncoding> definition = levels_of(member_of(page.bytes(2)));
        if (!definition) return {};
        if (layer == kNullableItem) flat.definition = definition;
    }
    if (page.has(4)) {
        flat.dictionary = dictionary_of(member_of(page.bytes(4)), page.number(5));
        if (!flat.dictionary) return {};
    }
    return flat;
}

PageEncoding full_zip(Bytes message) {
    const Fields page(message, fields({1, 2, 3, 4, 5, 6, 8}), fields({7, 8}));
    if (!page.is_known() || page.number(1) != 0 || page.number(2) > kMostLevelBits) return {};
    const uint64_t layer = page.only_number(8);
    if (layer != kAllValidItem && layer != kNullableItem) return {};
    const uint64_t value_bits = page.number(3);
    const uint64_t length_bits = page.number(4);
    if (page.has(3) == page.has(4)) return {};
    if (value_bits > kMostBits || value_bits % 8 != 0 || (page.has(4) && length_bits != 32 && length_bits != 64)) {
        return {};
    }
    const std::optional<ValueEncoding> values = values_of(member_of(page.bytes(7)), false);
    if (!values) return {};
    const bool has_levels = page.number(2) > 0 && layer == kNullableItem;
    return ZipPage{*values, static_cast<int64_t>(page.number(2)), has_levels ? 1 : 0,
                   static_cast<int64_t>(value_bits / 8), static_cast<int64_t>(length_bits / 8)};
}

PageEncoding constant(Bytes message) {
    const Fields page(message, fields({5, 9, 10}), fields({5, 6}));
    if (!page.is_known() || page.number(9) != 0 || page.number(10) != 0) return {};
    const uint64_t layer = page.only_number(5);
    if (layer != kAllValidItem && layer != kNullableItem) return {};
    return ConstantPage{page.bytes(6), layer == kNullableItem};
}

}  // namespace

PageEncoding parse_page_encoding(Bytes message) {
    const Fields any(message, 0, fields({1, 2}));
    if (!any.is_known() || !any.has(1) || !any.has(2)) return {};
    const Bytes url = *any.bytes(1);
    const std::string_view name(reinterpret_cast<const char*>(url.data()), url.size());
    if (name.substr(name.rfind('/') + 1) != kPageLayout) return {};
    const Member layout = member_of(any.bytes(2));
    if (layout.number == 1) return mini_block(layout.message);
    if (layout.number == 2) return constant(layout.message);
    if (layout.number == 3) return full_zip(layout.message);
    return {};
}

}  // namespace lance
