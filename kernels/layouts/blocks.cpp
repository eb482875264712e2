// Blocks that claim more values than their bytes can hold are refused before memory is taken for them.
#include "layouts/blocks.h"

#include "encodings/decode.h"

namespace lance {

namespace {

using Kind = EncodingKind;

constexpr int64_t kGroup = 1024;
constexpr int64_t kMostZeros = int64_t{1} << 24;
constexpr int64_t kMostRun = 255;

Block numbers(int64_t num_values, int64_t bits, Bytes data) { return {num_values, bits, false, {}, data}; }

Block flat_block(const EncodingTree& encoding, Bytes stored, int64_t num_values) {
    const int64_t needed = bytes_for_bits(multiply(num_values, encoding.bits));
    if (size_of(stored) < needed) {
        fail(num_values, " values of ", encoding.bits, " bits need ", needed, " bytes, found ", stored.size());
    }
    return numbers(num_values, encoding.bits, stored.first(static_cast<size_t>(needed)));
}

template <class Offset>
void check_ascend(Bytes offsets, Bytes data) {
    Offset before = 0;
    bool is_fine = true;
    for (size_t i = 0; i < offsets.size(); i += sizeof(Offset)) {
        const auto each = load<Offset>(offsets.data() + i);
        is_fine &= each >= before;
        before = each;
    }
    if (!is_fine || before > data.size()) {
        fail("offsets of strings descend or pass the end of their ", data.size(), " bytes");
    }
}

// The offset width, the start of the bytes, offsets from 0, the bytes. Early writers put a single byte of width first.
Block string_block(const EncodingTree& encoding, Bytes stored, int64_t num_values) {
    const int64_t width = encoding.bits / 8;
    const auto word = [&](int64_t at) -> uint64_t {
        return width == 4 ? load<uint32_t>(stored.data() + at) : load<uint64_t>(stored.data() + at);
    };
    int64_t start = 2 * width;
    uint64_t data_start = 0;
    if (stored.size() >= 4 && (stored[1] | stored[2] | stored[3]) != 0) {
        start = 1 + 2 * width;
        if (size_of(stored) < start || stored[0] != encoding.bits) fail("a block of strings with an unknown header");
        data_start = word(1 + width);
    } else {
        if (size_of(stored) < start) {
            fail("a block of ", stored.size(), " bytes is too short for the header of its strings");
        }
        if (word(0) != static_cast<uint64_t>(encoding.bits)) {
            fail("a block of strings with offsets of ", word(0), " bits, expected ", encoding.bits);
        }
        data_start = word(width);
    }
    const int64_t end = start + multiply(num_values + 1, width);
    if (data_start > stored.size() || end > static_cast<int64_t>(data_start)) {
        fail(num_values, " strings whose bytes start at ", data_start, " in a block of ", stored.size(), " bytes");
    }
    const Bytes offsets = stored.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
    const Bytes data = stored.subspan(static_cast<size_t>(data_start));
    if (width == 4) {
        check_ascend<uint32_t>(offsets, data);
    } else {
        check_ascend<uint64_t>(offsets, data);
    }
    return {num_values, encoding.bits, true, offsets, data};
}

Block unpacked_block(const EncodingTree& encoding, Bytes stored, int64_t num_values, OwnBytes& own) {
    const int64_t bits = encoding.packed_bits;
    if (bits == 0 && num_values > kMostZeros) fail(num_values, " values of 0 bits");
    const int64_t needed = multiply(num_values / kGroup * 128, bits);
    if (size_of(stored) < needed) {
        fail(num_values, " values of ", bits, " bits need ", needed, " bytes, found ", stored.size());
    }
    const MutableBytes out = own.take(multiply(num_values, encoding.bits / 8));
    unpack(stored, encoding.bits, bits, num_values, out);
    return numbers(num_values, encoding.bits, out);
}

Block group_block(const EncodingTree& encoding, Bytes stored, int64_t num_values, OwnBytes& own) {
    if (num_values > kGroup) fail(num_values, " values in one bit-packed group of ", kGroup);
    const MutableBytes out = own.take(num_values * (encoding.bits / 8));
    unpack_block(stored, encoding.bits, num_values, out);
    return numbers(num_values, encoding.bits, out);
}

Block run_block(const EncodingTree& encoding, Bytes stored, int64_t num_values, OwnBytes& own) {
    const int64_t bits = run_bits(encoding);
    if (num_values > multiply(size_of(stored), kMostRun)) {
        fail(num_values, " values in runs of ", stored.size(), " bytes");
    }
    const MutableBytes out = own.take(num_values * (bits / 8));
    rle_block(stored, bits, num_values, out);
    return numbers(num_values, bits, out);
}

}  // namespace

int64_t run_bits(const EncodingTree& encoding) {
    const EncodingTree& values = encoding.children.at(0);
    const EncodingTree& lengths = encoding.children.at(1);
    if (!lengths.is_flat(8)) fail_unsupported("run lengths encoded as ", name_of(lengths), " are not supported");
    const bool are_words = values.is_flat(8) || values.is_flat(16) || values.is_flat(32) || values.is_flat(64);
    if (!are_words) fail_unsupported("run values encoded as ", name_of(values), " are not supported");
    return values.bits;
}

MutableBytes OwnBytes::take(int64_t num_bytes) {
    parts_.push_back(std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(num_bytes)));
    size_ += num_bytes;
    return {parts_.back().get(), static_cast<size_t>(num_bytes)};
}

Bytes OwnBytes::copy_of(Bytes bytes) {
    const MutableBytes made = take(size_of(bytes));
    copy(made.data(), bytes.data(), size_of(bytes));
    return made;
}

Block decode_block(const EncodingTree& encoding, Bytes stored, int64_t num_values, OwnBytes& own) {
    switch (encoding.kind) {
        case Kind::kFlat: return flat_block(encoding, stored, num_values);
        case Kind::kVariable: return string_block(encoding, stored, num_values);
        case Kind::kInlineBitpacking: return group_block(encoding, stored, num_values, own);
        case Kind::kOutOfLineBitpacking: return unpacked_block(encoding, stored, num_values, own);
        case Kind::kRle: return run_block(encoding, stored, num_values, own);
        case Kind::kGeneral: {
            const MutableBytes out = own.take(decompressed_size(encoding.compression, stored));
            decompress(encoding.compression, stored, out);
            return decode_block(encoding.values(), out, num_values, own);
        }
        default: fail_unsupported("encoding ", name_of(encoding), " is not supported in a block");
    }
}

}  // namespace lance
