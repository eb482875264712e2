// Values, offsets and validity grow in buffers that become those of the array.
#include "arrow/column_builder.h"

#include <algorithm>
#include <array>

#include "arrow/arrow_node.h"

namespace lance {

namespace {

struct OwnedArray {
    PooledBuffer validity;
    PooledBuffer offsets;
    PooledBuffer values;
    std::array<const void*, 3> buffers{};
};

void release(ArrowArray* array) {
    if (array->dictionary != nullptr) {
        if (array->dictionary->release != nullptr) array->dictionary->release(array->dictionary);
        delete array->dictionary;
    }
    delete static_cast<OwnedArray*>(array->private_data);
    array->release = nullptr;
}

}  // namespace

ColumnBuilder::ColumnBuilder(ColumnFormat format, int64_t most_rows, int64_t spare_rows)
    : format_(format), most_rows_(most_rows + spare_rows), drops_rows_(spare_rows > 0) {
    if (most_rows > kMaxCount) fail("an array of ", most_rows, " rows");
    most_rows = most_rows_;
    if (format.variable) {
        if (format.bits != 32 && format.bits != 64) fail("offsets of ", format.bits, " bits, not 32 or 64");
        offsets_ = PooledBuffer(multiply(most_rows + 1, format.bits / 8));
        std::memset(offsets_.data(), 0, static_cast<size_t>(format.bits / 8));
        return;
    }
    if (format.bits != 1 && format.bits % 8 != 0) fail("values of ", format.bits, " bits");
    if (format.list_size > 0 && format.bits % (8 * format.list_size) != 0) {
        fail("lists of ", format.list_size, " items in ", format.bits, " bits");
    }
    values_ = PooledBuffer(bytes_for_bits(multiply(most_rows, format.bits)));
    if (format.bits == 1) bits_.emplace(MutableBytes(values_.data(), static_cast<size_t>(bytes_for_bits(most_rows))));
}

void ColumnBuilder::require_room(int64_t num_rows) const {
    if (num_rows > most_rows_ - num_rows_) fail("more than ", most_rows_, " rows");
}

MutableBytes ColumnBuilder::values(int64_t num_rows) {
    require_room(num_rows);
    const int64_t width = format_.bits / 8;
    return {values_.data() + num_rows_ * width, static_cast<size_t>(num_rows * width)};
}

MutableBytes ColumnBuilder::offsets(int64_t num_rows) {
    require_room(num_rows);
    const int64_t width = format_.bits / 8;
    return {offsets_.data() + num_rows_ * width, static_cast<size_t>((num_rows + 1) * width)};
}

MutableBytes ColumnBuilder::bytes(int64_t num_bytes) {
    const int64_t needed = num_bytes_ + num_bytes;
    // Twice the size for data in many parts; the exact size for one part.
    if (needed > values_.capacity())
        values_.grow(num_bytes_ == 0 ? needed : std::max(needed, 2 * num_bytes_), num_bytes_);
    return {values_.data() + num_bytes_, static_cast<size_t>(values_.capacity() - num_bytes_)};
}

void ColumnBuilder::begin_validity() {
    validity_ = PooledBuffer(bytes_for_bits(most_rows_));
    validity_bits_.emplace(MutableBytes(validity_.data(), static_cast<size_t>(bytes_for_bits(most_rows_))));
    append_ones(num_rows_);
}

void ColumnBuilder::append_ones(int64_t count) {
    for (; count > 0; count -= 64) {
        const int64_t now = std::min<int64_t>(count, 64);
        validity_bits_->append(low_bits(now), now);
    }
}

BitWriter& ColumnBuilder::validity() {
    if (!validity_bits_) begin_validity();
    return *validity_bits_;
}

void ColumnBuilder::add_rows(int64_t num_rows, int64_t num_valid) {
    require_room(num_rows);
    num_rows_ += num_rows;
    num_null_ += num_rows - num_valid;
}

void ColumnBuilder::add_valid(int64_t num_rows) {
    require_room(num_rows);
    if (expected_ != nullptr) {
        add_expected(num_rows);
        return;
    }
    if (validity_bits_) append_ones(num_rows);
    num_rows_ += num_rows;
}

void ColumnBuilder::add_expected(int64_t num_rows) {
    BitWriter& bits = validity();
    int64_t num_valid = 0;
    for (int64_t left = num_rows; left > 0;) {
        const int64_t now = std::min<int64_t>(left, 64);
        const uint64_t word = load_bits(expected_, num_expected_, now);
        bits.append(word, now);
        num_valid += count_ones(word);
        num_expected_ += now;
        left -= now;
    }
    add_rows(num_rows, num_valid);
}

void ColumnBuilder::add_null(int64_t num_rows) {
    require_room(num_rows);
    BitWriter& bits = validity();
    for (int64_t left = num_rows; left > 0; left -= 64) bits.append(0, std::min<int64_t>(left, 64));
    num_rows_ += num_rows;
    num_null_ += num_rows;
}

// Releases room for rows that were not appended, instead of holding it as long as the array.
void ColumnBuilder::shrink() {
    if (!drops_rows_ && num_rows_ > most_rows_ / 2) return;
    validity_.shrink(bytes_for_bits(num_rows_));
    if (format_.variable) {
        offsets_.shrink((num_rows_ + 1) * (format_.bits / 8));
        values_.shrink(num_bytes_);
    } else {
        values_.shrink(bytes_for_bits(num_rows_ * format_.bits));
    }
}

void ColumnBuilder::finish(ArrowArray& out) {
    if (bits_) bits_->finish();
    if (validity_bits_) validity_bits_->finish();
    shrink();
    if (format_.list_size > 0) {
        finish_lists(out);
        return;
    }
    auto owned = std::make_unique<OwnedArray>();
    if (num_null_ > 0) {
        owned->validity = std::move(validity_);
        owned->buffers[0] = owned->validity.data();
    }
    int64_t num_buffers = 2;
    if (format_.variable) {
        // Arrow wants an address even for no bytes.
        if (values_.data() == nullptr) values_ = PooledBuffer(0);
        owned->offsets = std::move(offsets_);
        owned->buffers[1] = owned->offsets.data();
        num_buffers = 3;
    }
    owned->values = std::move(values_);
    owned->buffers[static_cast<size_t>(num_buffers - 1)] = owned->values.data();
    out = {};
    out.length = num_rows_;
    out.null_count = num_null_;
    out.n_buffers = num_buffers;
    out.buffers = owned->buffers.data();
    out.release = release;
    out.private_data = owned.release();
}

void ColumnBuilder::finish_lists(ArrowArray& out) {
    NodeSlots slots{num_rows_, num_null_, std::move(validity_), std::nullopt, 0};
    ColumnBuilder items({false, format_.bits / format_.list_size}, 0);
    items.values_ = std::move(values_);
    items.num_rows_ = num_rows_ * format_.list_size;
    HeldArrays held(1);
    items.finish(held.arrays[0]);
    out = around(std::move(held.arrays), std::move(slots));
}

}  // namespace lance
