// Lends bytes that are stored in Arrow's layout.
#include "stream/lent_values.h"

#include <algorithm>
#include <array>
#include <memory>

#include "arrow/arrow_node.h"

namespace lance {

namespace {

// Alignment for values of any type.
constexpr uintptr_t kAlignment = 8;

struct LentArray {
    HeldArrays owner;
    std::array<const void*, 2> buffers{};
};

void release_lent(ArrowArray* array) {
    delete static_cast<LentArray*>(array->private_data);
    array->release = nullptr;
}

ArrowArray to_array(Bytes values, int64_t num_values, const SharedArray& owner) {
    auto owned = std::make_unique<LentArray>();
    owned->owner.arrays.emplace_back();
    owner.copy(owned->owner.arrays.back());
    owned->buffers[1] = values.data();
    ArrowArray array{};
    array.length = num_values;
    array.n_buffers = 2;
    array.buffers = owned->buffers.data();
    array.release = release_lent;
    array.private_data = owned.release();
    return array;
}

}  // namespace

std::optional<ArrowArray> lend(const ColumnReader& column, const FileParts& parts, const std::vector<LentBytes>& lent,
                               const Ranges& rows) {
    const std::vector<PageRows> split = column.split(rows);
    if (split.size() != 1) return std::nullopt;
    const PageRows& part = split.front();
    const auto entry =
        std::find_if(lent.begin(), lent.end(), [&](const LentBytes& each) { return each.page == part.page; });
    if (entry == lent.end()) return std::nullopt;
    const ColumnFormat format = part.reader->format();
    const std::optional<Bytes> values = part.reader->stored_values(column.bytes(part.page, parts), part.rows());
    if (!values || format.variable || reinterpret_cast<uintptr_t>(values->data()) % kAlignment != 0)
        return std::nullopt;
    const int64_t num_rows = rows.num_items();
    if (format.list_size == 0) return to_array(*values, num_rows, entry->owner);
    HeldArrays items;
    items.arrays.reserve(1);
    items.arrays.push_back(to_array(*values, multiply(num_rows, format.list_size), entry->owner));
    return around(std::move(items.arrays), {num_rows, 0, {}, std::nullopt, 0});
}

}  // namespace lance
