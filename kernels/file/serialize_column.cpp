// Source: messages lance.file.v2.ColumnMetadata and Encoding.
#include "file/columns.h"

namespace lance {

namespace {

// Appends fields to a message, as protobuf does it: numbers that are zero and empty lists are left out.
class WireWriter {
  public:
    explicit WireWriter(std::vector<uint8_t>& out) : out_(out) {}

    void varint(uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<uint8_t>(value | 0x80));
        out_.push_back(static_cast<uint8_t>(value));
    }

    void number(int64_t field, uint64_t value) {
        if (value == 0) return;
        varint(static_cast<uint64_t>(field) << 3);
        varint(value);
    }

    // A length-delimited field, written even if empty.
    void bytes(int64_t field, Bytes value) {
        varint(static_cast<uint64_t>(field) << 3 | 2);
        varint(value.size());
        out_.insert(out_.end(), value.begin(), value.end());
    }

  private:
    std::vector<uint8_t>& out_;
};

// Encoding: 2 direct {1 encoding}.
std::vector<uint8_t> direct(Bytes encoding) {
    std::vector<uint8_t> inner, outer;
    if (!encoding.empty()) WireWriter(inner).bytes(1, encoding);
    WireWriter(outer).bytes(2, inner);
    return outer;
}

void packed(WireWriter& message, int64_t field, const std::vector<int64_t>& buffers, bool are_sizes) {
    std::vector<uint8_t> numbers;
    WireWriter list(numbers);
    for (size_t i = 0; i + 1 < buffers.size(); i += 2) {
        list.varint(static_cast<uint64_t>(are_sizes ? buffers[i + 1] - buffers[i] : buffers[i]));
    }
    if (!numbers.empty()) message.bytes(field, numbers);
}

}  // namespace

std::vector<uint8_t> serialize_column(Bytes encoding, const std::vector<WrittenPage>& pages) {
    std::vector<uint8_t> column, content;
    WireWriter fields(column);
    fields.bytes(1, direct(encoding));
    for (const WrittenPage& page : pages) {
        content.clear();
        WireWriter message(content);
        packed(message, 1, page.buffers, false);
        packed(message, 2, page.buffers, true);
        message.number(3, static_cast<uint64_t>(page.num_rows));
        message.bytes(4, direct(page.encoding));
        message.number(5, static_cast<uint64_t>(page.priority));
        fields.bytes(2, content);
    }
    return column;
}

}  // namespace lance
