// Children grow on their own; their parents count rows, and note which are NULL.
#include "layouts/value_shape.h"

#include <algorithm>
#include <utility>

#include "encodings/variable.h"

namespace lance {

ValueBuilder::ValueBuilder(const ValueShape& shape, int64_t most_rows) : shape_(&shape), most_rows_(most_rows) {
    if (most_rows > kMaxCount) fail("an array of ", most_rows, " rows");
    if (shape.kind == ValueShape::Kind::kPlain) plain_.emplace(shape.format, most_rows);
    const bool are_lists = shape.kind == ValueShape::Kind::kLists;
    if (are_lists && shape.children.size() != 1) fail("lists of ", shape.children.size(), " kinds of items");
    const int64_t inside = are_lists ? multiply(most_rows, shape.list_size) : most_rows;
    children_.reserve(shape.children.size());
    for (const ValueShape& child : shape.children) children_.emplace_back(child, inside);
}

void ValueBuilder::append_validity(int64_t count, const uint8_t* validity) {
    if (validity == nullptr && !bits_) return;
    if (!bits_) {
        const int64_t num_bytes = bytes_for_bits(most_rows_);
        validity_ = PooledBuffer(num_bytes);
        bits_.emplace(MutableBytes(validity_.data(), static_cast<size_t>(num_bytes)));
        for (int64_t left = num_rows_; left > 0; left -= 64) {
            const int64_t now = std::min<int64_t>(left, 64);
            bits_->append(low_bits(now), now);
        }
    }
    for (int64_t at = 0; at < count; at += 64) {
        const int64_t now = std::min<int64_t>(count - at, 64);
        const uint64_t word = validity == nullptr ? low_bits(now) : load_bits(validity, at, now);
        bits_->append(word, now);
        num_null_ += now - count_ones(word);
    }
}

void ValueBuilder::add_rows(int64_t count, const uint8_t* validity) {
    if (plain_) {
        plain_->expect_validity(validity);
        plain_->add_valid(count);
        plain_->expect_validity(nullptr);
        return;
    }
    if (count > most_rows_ - num_rows_) fail("more than ", most_rows_, " rows");
    if (shape_->kind != ValueShape::Kind::kNull) append_validity(count, validity);
    num_rows_ += count;
}

void ValueBuilder::add_null(int64_t count) {
    if (plain_) {
        const ColumnFormat& format = plain_->format();
        if (format.variable) {
            with_offset(format.bits, [&](auto offset) {
                using Offset = decltype(offset);
                uint8_t* to = plain_->offsets(count).data();
                for (int64_t i = 0; i <= count; ++i) {
                    store(to + i * static_cast<int64_t>(sizeof(Offset)), static_cast<Offset>(plain_->num_bytes()));
                }
            });
        } else if (format.bits == 1) {
            for (int64_t left = count; left > 0; left -= 64) plain_->bits().append(0, std::min<int64_t>(left, 64));
        } else if (count > 0) {
            const MutableBytes values = plain_->values(count);
            std::memset(values.data(), 0, values.size());
        }
        plain_->add_null(count);
        return;
    }
    const int64_t inside = shape_->kind == ValueShape::Kind::kLists ? multiply(count, shape_->list_size) : count;
    for (ValueBuilder& child : children_) child.add_null(inside);
    const PooledBuffer nothing(bytes_for_bits(count));
    if (count > 0) std::memset(nothing.data(), 0, static_cast<size_t>(bytes_for_bits(count)));
    add_rows(count, nothing.data());
}

ArrowArray ValueBuilder::finish() {
    if (shape_->kind == ValueShape::Kind::kNull) return nulls(num_rows_);
    HeldArrays made(plain_ ? 1 : children_.size());
    if (plain_) {
        plain_->finish(made.arrays[0]);
        return std::exchange(made.arrays[0], ArrowArray{});
    }
    for (size_t i = 0; i < children_.size(); ++i) made.arrays[i] = children_[i].finish();
    if (bits_) bits_->finish();
    NodeSlots slots;
    slots.num_slots = num_rows_;
    slots.num_null = num_null_;
    slots.validity = std::move(validity_);
    return around(std::exchange(made.arrays, {}), std::move(slots));
}

}  // namespace lance
