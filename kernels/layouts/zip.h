// Full-zip entries: [control word][length][bytes], one after the other.
//
// control word: (rep << bits_def) | def in 0, 1, 2 or 4 bytes. An entry with def <= max_visible owns an item: fixed
// width, always value_bytes; variable width, a length and that many bytes unless def > 0.
#pragma once

#include <optional>

#include "system/bits.h"

namespace lance {

struct ZipShape {
    ZipShape(int64_t bits_rep, int64_t bits_def, int64_t max_visible, int64_t value_bytes, int64_t length_bytes)
        : bits_rep(bits_rep),
          bits_def(bits_def),
          max_visible(max_visible),
          value_bytes(value_bytes),
          length_bytes(length_bytes) {
        if (bits_rep > 16 || bits_def > 16) fail("levels of ", bits_rep, " and ", bits_def, " bits, not up to 16");
        if (length_bytes != 0 && length_bytes != 4 && length_bytes != 8) {
            fail("lengths of ", length_bytes, " bytes, not 4 or 8");
        }
        const int64_t bits = bits_rep + bits_def;
        control_bytes = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
    }

    bool is_variable() const { return length_bytes != 0; }

    int64_t bits_rep;
    int64_t bits_def;
    int64_t max_visible;
    int64_t value_bytes;   // of fixed width
    int64_t length_bytes;  // 0: fixed width
    int64_t control_bytes;
};

struct ZipEntry {
    uint16_t rep;
    uint16_t def;
    bool visible;
    int64_t value_start;
    int64_t value_bytes;
};

// Reads entries of data[position, end); every one is inside.
class ZipCursor {
  public:
    ZipCursor(Bytes data, int64_t start, int64_t end, const ZipShape& shape)
        : data_(data.data()), position_(start), end_(end), shape_(shape) {
        if (start > end || end > size_of(data)) fail("entries ", start, " to ", end, " are not in ", data.size());
        if (shape.control_bytes == 0 && !shape.is_variable() && shape.value_bytes == 0) fail("entries of no bytes");
    }

    bool at_end() const { return position_ == end_; }
    int64_t position() const { return position_; }

    ZipEntry next() {
        const uint32_t control = read_control();
        ZipEntry entry;
        entry.def = static_cast<uint16_t>(control & low_bits(shape_.bits_def));
        entry.rep = static_cast<uint16_t>(control >> shape_.bits_def & low_bits(shape_.bits_rep));
        entry.visible = entry.def <= shape_.max_visible;
        entry.value_bytes = 0;
        if (entry.visible) {
            if (!shape_.is_variable()) {
                entry.value_bytes = shape_.value_bytes;
            } else if (entry.def == 0) {
                entry.value_bytes = read_length();
            }
        }
        entry.value_start = position_;
        advance(entry.value_bytes);
        return entry;
    }

  private:
    void require(int64_t num_bytes) const {
        if (num_bytes > end_ - position_) {
            fail("an entry needs ", num_bytes, " bytes at ", position_, ", the entries end at ", end_);
        }
    }

    void advance(int64_t num_bytes) {
        require(num_bytes);
        position_ += num_bytes;
    }

    uint32_t read_control() {
        const uint8_t* at = data_ + position_;
        advance(shape_.control_bytes);
        switch (shape_.control_bytes) {
            case 1: return *at;
            case 2: return load<uint16_t>(at);
            case 4: return load<uint32_t>(at);
            default: return 0;
        }
    }

    int64_t read_length() {
        const uint8_t* at = data_ + position_;
        advance(shape_.length_bytes);
        if (shape_.length_bytes == 4) return load<uint32_t>(at);
        const uint64_t length = load<uint64_t>(at);
        if (length > static_cast<uint64_t>(kMaxCount)) fail("a value of ", length, " bytes");
        return static_cast<int64_t>(length);
    }

    const uint8_t* data_;
    int64_t position_;
    int64_t end_;
    const ZipShape& shape_;
};

struct ZipInput {
    std::optional<Bytes> rep;
    std::optional<Bytes> def;
    std::optional<Bytes> offsets;  // of values of variable width
    int64_t offset_bits;
    Bytes values;
};

int64_t zip(const ZipInput& in, int64_t num_entries, const ZipShape& shape, int64_t max_rep, MutableBytes out,
            std::optional<MutableBytes> out_row_starts);

}  // namespace lance
