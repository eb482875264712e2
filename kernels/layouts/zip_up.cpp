// Full-zip entries from levels and values; see zip.h for the layout of an entry.
#include <algorithm>

#include "encodings/encode.h"
#include "encodings/variable.h"
#include "layouts/zip.h"

namespace lance {

namespace {

class EntryWriter {
  public:
    EntryWriter(MutableBytes out, const ZipShape& shape) : out_(out), shape_(shape) {}

    int64_t position() const { return at_; }

    void put_control(uint32_t word) {
        uint8_t* to = reserve(shape_.control_bytes);
        switch (shape_.control_bytes) {
            case 1: *to = static_cast<uint8_t>(word); break;
            case 2: store(to, static_cast<uint16_t>(word)); break;
            case 4: store(to, word); break;
            default: break;
        }
    }

    void put_length(int64_t length) {
        if (shape_.length_bytes == 4) {
            if (length > int64_t{UINT32_MAX}) fail("a value of ", length, " bytes");
            store(reserve(4), static_cast<uint32_t>(length));
        } else {
            store(reserve(8), static_cast<uint64_t>(length));
        }
    }

    void put(const uint8_t* from, int64_t num_bytes) { copy(reserve(num_bytes), from, num_bytes); }

  private:
    uint8_t* reserve(int64_t num_bytes) {
        if (num_bytes > size_of(out_) - at_) fail("out of ", out_.size(), " bytes is too short for the entries");
        uint8_t* to = out_.data() + at_;
        at_ += num_bytes;
        return to;
    }

    MutableBytes out_;
    const ZipShape& shape_;
    int64_t at_ = 0;
};

// Bytes [start, end) of value i.
class Values {
  public:
    Values(const ZipInput& in, const ZipShape& shape) : in_(in), width_(shape.value_bytes) {
        if (shape.is_variable() != in.offsets.has_value()) fail("offsets belong to values of variable width");
        if (in.offsets) num_values_ = std::max<int64_t>(size_of(*in.offsets) / (in.offset_bits / 8) - 1, 0);
    }

    Bytes operator[](int64_t i) const {
        int64_t start = i * width_;
        int64_t end = start + width_;
        if (in_.offsets) {
            if (i >= num_values_) fail("value ", i, " has no offset");
            const uint8_t* at = in_.offsets->data() + i * (in_.offset_bits / 8);
            start = in_.offset_bits == 32 ? load<uint32_t>(at) : load<int64_t>(at);
            end = in_.offset_bits == 32 ? load<uint32_t>(at + 4) : load<int64_t>(at + 8);
        }
        if (start < 0 || start > end || end > size_of(in_.values)) {
            fail("value ", i, " is bytes ", start, " to ", end, " of ", in_.values.size());
        }
        return in_.values.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
    }

  private:
    const ZipInput& in_;
    int64_t width_;
    int64_t num_values_ = 0;
};

uint32_t level(const std::optional<Bytes>& levels, int64_t i) {
    return levels ? load<uint16_t>(levels->data() + 2 * i) : 0;
}

}  // namespace

int64_t zip(const ZipInput& in, int64_t num_entries, const ZipShape& shape, int64_t max_rep, MutableBytes out,
            std::optional<MutableBytes> out_row_starts) {
    if (in.rep) require_input(*in.rep, 2 * num_entries, "rep");
    if (in.def) require_input(*in.def, 2 * num_entries, "def");
    if (in.offset_bits != 32 && in.offset_bits != 64) fail("offsets of ", in.offset_bits, " bits, not 32 or 64");
    if (shape.control_bytes == 0 && !shape.is_variable() && shape.value_bytes == 0) fail("entries of no bytes");
    const Values values(in, shape);
    EntryWriter writer(out, shape);
    int64_t row = 0;
    const auto start_row = [&] {
        if (!out_row_starts) return;
        require_output(*out_row_starts, 8 * (row + 1), "out_row_starts");
        store(out_row_starts->data() + 8 * row, writer.position());
        ++row;
    };
    int64_t item = 0;
    for (int64_t i = 0; i < num_entries; ++i) {
        const uint32_t rep = level(in.rep, i);
        const uint32_t def = level(in.def, i);
        if (rep > low_bits(shape.bits_rep) || def > low_bits(shape.bits_def)) fail("entry ", i, " has larger levels");
        if (rep == max_rep) start_row();
        writer.put_control(rep << shape.bits_def | def);
        if (def > shape.max_visible) continue;
        const Bytes value = values[item++];
        if (shape.is_variable()) {
            if (def > 0) continue;
            writer.put_length(size_of(value));
        }
        writer.put(value.data(), size_of(value));
    }
    start_row();
    return writer.position();
}

}  // namespace lance
