#include "pair_matching.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "filter_loops.h"
#include "packed.h"
#include "variable.h"

namespace lance {

namespace {

template <class Value>
uint8_t outcome(Value left, Value right) {
    return static_cast<uint8_t>(left < right    ? PairComparison::kLess
                                : left == right ? PairComparison::kEqual
                                                : PairComparison::kGreater);
}

template <class Value>
class Numbers {
  public:
    explicit Numbers(const ArrowArray& array) : values_(static_cast<const uint8_t*>(array.buffers[1])) {}
    Value operator[](int64_t i) const { return load<Value>(values_ + i * static_cast<int64_t>(sizeof(Value))); }

  private:
    const uint8_t* values_;
};

// NaN is equal to itself and above everything, -0.0 is 0.0.
template <class Float>
class Floats {
    using Word = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;

  public:
    explicit Floats(const ArrowArray& array) : values_(array) {}

    Word operator[](int64_t i) const {
        const Float value = values_[i];
        if (value != value) return std::numeric_limits<Word>::max();
        const auto bits = std::bit_cast<Word>(value + Float{0});
        constexpr Word highest = Word{1} << (8 * sizeof(Word) - 1);
        return bits & highest ? static_cast<Word>(~bits) : bits | highest;
    }

  private:
    Numbers<Float> values_;
};

// A signed number of 128 bits.
struct WideNumber {
    int64_t high;
    uint64_t low;

    auto operator<=>(const WideNumber&) const = default;
};

class WideNumbers {
  public:
    explicit WideNumbers(const ArrowArray& array) : values_(array) {}

    WideNumber operator[](int64_t i) const {
        const Wide value = values_[i];
        return {static_cast<int64_t>(value.high), value.low};
    }

  private:
    Numbers<Wide> values_;
};

class Bools {
  public:
    explicit Bools(const ArrowArray& array) : bits_(static_cast<const uint8_t*>(array.buffers[1])) {}
    bool operator[](int64_t i) const { return (bits_[i / 8] >> (i % 8) & 1) != 0; }

  private:
    const uint8_t* bits_;
};

// In the order of their bytes.
struct String {
    const uint8_t* data;
    size_t size;

    bool operator==(const String& other) const {
        return size == other.size && (size == 0 || std::memcmp(data, other.data, size) == 0);
    }
    bool operator<(const String& other) const {
        const size_t common = std::min(size, other.size);
        const int order = common == 0 ? 0 : std::memcmp(data, other.data, common);
        return order != 0 ? order < 0 : size < other.size;
    }
};

template <class Offset>
class Strings {
  public:
    explicit Strings(const ArrowArray& array)
        : offsets_(static_cast<const uint8_t*>(array.buffers[1])), data_(static_cast<const uint8_t*>(array.buffers[2])) {}

    String operator[](int64_t i) const {
        const uint8_t* at = offsets_ + i * static_cast<int64_t>(sizeof(Offset));
        const auto start = load<Offset>(at);
        return {data_ + start, static_cast<size_t>(load<Offset>(at + sizeof(Offset)) - start)};
    }

  private:
    const uint8_t* offsets_;
    const uint8_t* data_;
};

class Validity {
  public:
    explicit Validity(const ArrowArray& array)
        : bits_(array.null_count == 0 ? nullptr : static_cast<const uint8_t*>(array.buffers[0])) {}
    bool operator[](int64_t i) const { return bits_ == nullptr || (bits_[i / 8] >> (i % 8) & 1) != 0; }

  private:
    const uint8_t* bits_;
};

// Without a branch: which numbers are less cannot be predicted.
template <class Values>
void keep_all(const Values& left, const Values& right, uint8_t accepted, MutableBytes flags) {
    const bool less = (accepted & PairComparison::kLess) != 0;
    const bool equal = (accepted & PairComparison::kEqual) != 0;
    const bool greater = (accepted & PairComparison::kGreater) != 0;
    for (size_t i = 0; i < flags.size(); ++i) {
        const auto a = left[static_cast<int64_t>(i)];
        const auto b = right[static_cast<int64_t>(i)];
        flags[i] = static_cast<uint8_t>(((a < b) & less) | ((a == b) & equal) | ((a > b) & greater));
    }
}

// Calls then(type) with the class that reads values of a format; refuses formats that have no such order.
template <class Then>
void with_values(const ColumnFormat& format, PairOrder order, Then then) {
    const auto of = [&]<class Values>(std::type_identity<Values> values) { then(values); };
    if (format.list_size != 0 || format.variable != (order == PairOrder::kStrings)) fail("columns that have no order");
    if (order == PairOrder::kStrings) {
        with_offset(format.bits, [&](auto offset) { of(std::type_identity<Strings<decltype(offset)>>()); });
    } else if (order == PairOrder::kFloat) {
        if (format.bits == 32) {
            of(std::type_identity<Floats<float>>());
        } else if (format.bits == 64) {
            of(std::type_identity<Floats<double>>());
        } else {
            fail("floats of ", format.bits, " bits, not 32 or 64");
        }
    } else if (order == PairOrder::kUnsigned && format.bits == 1) {
        of(std::type_identity<Bools>());
    } else if (order == PairOrder::kSigned && format.bits == 128) {
        of(std::type_identity<WideNumbers>());
    } else {
        with_word(format.bits, [&](auto word) {
            using Word = decltype(word);
            if (order == PairOrder::kUnsigned) {
                of(std::type_identity<Numbers<Word>>());
            } else {
                of(std::type_identity<Numbers<std::make_signed_t<Word>>>());
            }
        });
    }
}

}  // namespace

void check_pair(const PairComparison& comparison, const ColumnFormat& left, const ColumnFormat& right) {
    if (left != right) fail("columns of different formats are compared");
    with_values(left, comparison.order, [](auto) {});
}

void keep_pairs(const ArrowArray& left, const ArrowArray& right, const ColumnFormat& format,
                const PairComparison& comparison, MutableBytes flags) {
    const int64_t count = count_flags(flags);
    if (left.length != count || right.length != count) fail("arrays of ", left.length, " and ", right.length, " rows for ", count);
    const Validity left_valid(left);
    const Validity right_valid(right);
    with_values(format, comparison.order, [&]<class Values>(std::type_identity<Values>) {
        const Values left_values(left);
        const Values right_values(right);
        if constexpr (!std::is_class_v<std::decay_t<decltype(left_values[0])>>) {
            if (count == size_of(flags)) {
                keep_all(left_values, right_values, comparison.accepted, flags);
                for (int64_t i = 0; left.null_count + right.null_count != 0 && i < count; ++i) {
                    flags[static_cast<size_t>(i)] &= static_cast<uint8_t>(left_valid[i] && right_valid[i]);
                }
                return;
            }
        }
        int64_t i = 0;
        for (uint8_t& flag : flags) {
            if (!flag) continue;
            const bool is_known = left_valid[i] && right_valid[i];
            flag = is_known && (outcome(left_values[i], right_values[i]) & comparison.accepted) != 0;
            ++i;
        }
    });
}

}  // namespace lance
