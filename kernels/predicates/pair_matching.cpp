// One loop for each kind of value, with the order of SQL.
#include "predicates/pair_matching.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "encodings/packed.h"
#include "encodings/variable.h"
#include "predicates/filter_loops.h"

namespace lance {

namespace {

template <class Value>
uint8_t outcome(Value left, Value right) {
    return static_cast<uint8_t>(left < right ? Outcome::kLess : left == right ? Outcome::kEqual : Outcome::kGreater);
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

// The rest of numbers by one that all of them are divided by, which costs a multiplication.
//
// Source: T. Granlund and P. L. Montgomery, Division by invariant integers using multiplication, 1994.
class Divisor {
  public:
    explicit Divisor(uint64_t divisor) : divisor_(divisor) {
#ifdef __SIZEOF_INT128__
        if (std::has_single_bit(divisor)) return;
        const int bits = std::bit_width(divisor - 1);
        // 2 ** (63 + bits) / divisor, bit by bit: wheels are linked without a library for divisions of 128 bits.
        uint64_t rest = uint64_t{1} << (bits - 1);
        for (int i = 0; i < 64; ++i) {
            const bool fits = rest >> 63 != 0 || rest << 1 >= divisor;
            rest = (rest << 1) - (fits ? divisor : 0);
            factor_ = factor_ << 1 | static_cast<uint64_t>(fits);
        }
        ++factor_;
        shift_ = bits - 1;
#endif
    }

    uint64_t rest(uint64_t number) const {
#ifdef __SIZEOF_INT128__
        if (std::has_single_bit(divisor_)) return number & (divisor_ - 1);
        // the factor is exact for numbers of 63 bits
        if (number >> 63 == 0)
            return number - (static_cast<uint64_t>(Product{number} * factor_ >> 64) >> shift_) * divisor_;
#endif
        return number % divisor_;
    }

  private:
#ifdef __SIZEOF_INT128__
    __extension__ using Product = unsigned __int128;
    uint64_t factor_ = 0;
    int shift_ = 0;
#endif
    uint64_t divisor_;
};

template <class Value>
class Rests {
  public:
    Rests(const ArrowArray& array, uint64_t divisor) : values_(array), divisor_(divisor) {}

    Value operator[](int64_t i) const {
        const Value value = values_[i];
        if constexpr (std::is_signed_v<Value>) {
            const auto wide = static_cast<uint64_t>(static_cast<int64_t>(value));
            const uint64_t rest = divisor_.rest(value < 0 ? 0 - wide : wide);
            return static_cast<Value>(value < 0 ? 0 - rest : rest);
        } else {
            return static_cast<Value>(divisor_.rest(value));
        }
    }

  private:
    Numbers<Value> values_;
    Divisor divisor_;
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
        : offsets_(static_cast<const uint8_t*>(array.buffers[1])),
          data_(static_cast<const uint8_t*>(array.buffers[2])) {}

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
template <class Left, class Right>
void keep_all(const Left& left, const Right& right, uint8_t accepted, MutableBytes flags) {
    const auto is_accepted = [accepted](Outcome outcome) { return (accepted & static_cast<uint8_t>(outcome)) != 0; };
    const bool less = is_accepted(Outcome::kLess);
    const bool equal = is_accepted(Outcome::kEqual);
    const bool greater = is_accepted(Outcome::kGreater);
    for (size_t i = 0; i < flags.size(); ++i) {
        const auto a = left[static_cast<int64_t>(i)];
        const auto b = right[static_cast<int64_t>(i)];
        flags[i] = static_cast<uint8_t>(((a < b) & less) | ((a == b) & equal) | ((a > b) & greater));
    }
}

// Calls then(type) with the class that reads values of a format; refuses formats that have no such order.
template <class Then>
void with_values(const ColumnFormat& format, std::optional<ValueOrder> order, Then then) {
    const auto of = [&]<class Values>(std::type_identity<Values> values) { then(values); };
    if (format.list_size != 0 || format.variable == order.has_value()) fail("columns that have no order");
    if (!order) {
        with_offset(format.bits, [&](auto offset) { of(std::type_identity<Strings<decltype(offset)>>()); });
    } else if (order == ValueOrder::kFloat) {
        if (format.bits == 32) {
            of(std::type_identity<Floats<float>>());
        } else if (format.bits == 64) {
            of(std::type_identity<Floats<double>>());
        } else {
            fail("floats of ", format.bits, " bits, not 32 or 64");
        }
    } else if (order == ValueOrder::kUnsigned && format.bits == 1) {
        of(std::type_identity<Bools>());
    } else if (order == ValueOrder::kSigned && format.bits == 128) {
        of(std::type_identity<WideNumbers>());
    } else {
        with_word(format.bits, [&](auto word) {
            using Word = decltype(word);
            if (order == ValueOrder::kUnsigned) {
                of(std::type_identity<Numbers<Word>>());
            } else {
                of(std::type_identity<Numbers<std::make_signed_t<Word>>>());
            }
        });
    }
}

template <class Left, class Right>
void keep(const Left& left, const Right& right, const ArrowArray& left_array, const ArrowArray& right_array,
          uint8_t accepted, MutableBytes flags) {
    const Validity left_valid(left_array);
    const Validity right_valid(right_array);
    const int64_t count = left_array.length;
    if constexpr (!std::is_class_v<std::decay_t<decltype(left[0])>>) {
        if (count == size_of(flags)) {
            keep_all(left, right, accepted, flags);
            for (int64_t i = 0; left_array.null_count + right_array.null_count != 0 && i < count; ++i) {
                flags[static_cast<size_t>(i)] &= static_cast<uint8_t>(left_valid[i] && right_valid[i]);
            }
            return;
        }
    }
    int64_t i = 0;
    for (uint8_t& flag : flags) {
        if (!flag) continue;
        const bool is_known = left_valid[i] && right_valid[i];
        flag = is_known && (outcome(left[i], right[i]) & accepted) != 0;
        ++i;
    }
}

template <class Values>
inline constexpr bool kAreIntegers = false;
template <class Value>
inline constexpr bool kAreIntegers<Numbers<Value>> = std::is_integral_v<Value>;

}  // namespace

void check_pair(const PairComparison& comparison, const ColumnFormat& left, const ColumnFormat& right) {
    if (left != right) fail("columns of different formats are compared");
    with_values(left, comparison.order, [&]<class Values>(std::type_identity<Values>) {
        if (comparison.divisor != 0 && !kAreIntegers<Values>) fail("rests of what are no integers");
    });
}

void keep_pairs(const ArrowArray& left, const ArrowArray& right, const ColumnFormat& format,
                const PairComparison& comparison, MutableBytes flags) {
    const int64_t count = count_flags(flags);
    if (left.length != count || right.length != count)
        fail("arrays of ", left.length, " and ", right.length, " rows for ", count);
    with_values(format, comparison.order, [&]<class Values>(std::type_identity<Values>) {
        const Values right_values(right);
        if constexpr (kAreIntegers<Values>) {
            if (comparison.divisor != 0) {
                const Rests<std::decay_t<decltype(right_values[0])>> rests(left, comparison.divisor);
                keep(rests, right_values, left, right, comparison.accepted, flags);
                return;
            }
        }
        keep(Values(left), right_values, left, right, comparison.accepted, flags);
    });
}

}  // namespace lance
