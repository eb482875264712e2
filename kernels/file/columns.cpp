// Source: messages lance.file.v2.ColumnMetadata and lance.file.FileDescriptor.
#include "file/columns.h"

#include "proto/wire.h"

namespace lance {

namespace {

// A repeated uint64, which writers may store packed or one by one.
void add_numbers(const WireField& field, std::vector<uint64_t>& numbers) {
    if (field.type == WireType::kVarint) numbers.push_back(field.value);
    if (field.type != WireType::kBytes) return;
    WireReader packed(field.bytes);
    while (!packed.done()) numbers.push_back(packed.varint());
}

// Encoding: one of 1 indirect, 2 direct {1 bytes}, 3 none. Absent means no bytes.
std::optional<Bytes> direct_encoding(Bytes message) {
    std::optional<Bytes> encoding;
    for (const WireField& field : WireReader(message)) {
        if (field.type != WireType::kBytes || field.number > 3) continue;
        encoding.reset();
        if (field.number != 2) continue;
        encoding = Bytes();
        for (const WireField& part : WireReader(field.bytes)) {
            if (part.number == 1 && part.type == WireType::kBytes) encoding = part.bytes;
        }
    }
    return encoding;
}

// Page: 1 buffer offsets, 2 buffer sizes, 3 length, 4 encoding.
StoredPage parse_page(Bytes message, uint64_t file_size) {
    StoredPage page;
    std::vector<uint64_t> offsets;
    std::vector<uint64_t> sizes;
    uint64_t length = 0;
    for (const WireField& field : WireReader(message)) {
        if (field.number == 1) add_numbers(field, offsets);
        if (field.number == 2) add_numbers(field, sizes);
        if (field.number == 3 && field.type == WireType::kVarint) length = field.value;
        if (field.number == 4 && field.type == WireType::kBytes) page.encoding = direct_encoding(field.bytes);
    }
    if (offsets.size() != sizes.size()) fail(offsets.size(), " buffer offsets for ", sizes.size(), " sizes");
    if (length > static_cast<uint64_t>(kMaxCount)) fail("a page of ", length, " rows is not possible");
    page.num_rows = static_cast<int64_t>(length);
    page.buffers.reserve(2 * offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] > file_size || sizes[i] > file_size - offsets[i]) {
            fail("a buffer of ", sizes[i], " bytes at byte ", offsets[i], " of a file of ", file_size, " bytes");
        }
        page.buffers.push_back(static_cast<int64_t>(offsets[i]));
        page.buffers.push_back(static_cast<int64_t>(offsets[i] + sizes[i]));
    }
    return page;
}

}  // namespace

StoredColumn parse_column(Bytes metadata, int64_t file_size) {
    StoredColumn column;
    for (const WireField& field : WireReader(metadata)) {
        if (field.type != WireType::kBytes) continue;
        if (field.number == 1) column.encoding = direct_encoding(field.bytes).value_or(Bytes());
        if (field.number == 2) column.pages.push_back(parse_page(field.bytes, static_cast<uint64_t>(file_size)));
    }
    return column;
}

int64_t num_rows_of_file(Bytes descriptor) {
    uint64_t length = 0;
    for (const WireField& field : WireReader(descriptor)) {
        if (field.number == 2 && field.type == WireType::kVarint) length = field.value;
    }
    if (length > static_cast<uint64_t>(kMaxCount)) fail("a file of ", length, " rows is not possible");
    return static_cast<int64_t>(length);
}

}  // namespace lance
