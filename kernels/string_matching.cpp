#include "string_matching.h"

#include <vector>

#include "variable.h"

namespace lance {

namespace {

// The first byte is the highest.
uint64_t in_order(uint64_t bytes) {
    bytes = (bytes & 0x00FF00FF00FF00FF) << 8 | (bytes >> 8 & 0x00FF00FF00FF00FF);
    bytes = (bytes & 0x0000FFFF0000FFFF) << 16 | (bytes >> 16 & 0x0000FFFF0000FFFF);
    return bytes << 32 | bytes >> 32;
}

// A string that others are compared with, eight bytes at a time.
class Bound {
  public:
    explicit Bound(Bytes bytes) : size_(bytes.size()), padded_(bytes.begin(), bytes.end()) { padded_.resize(size_ + 8); }

    bool empty() const { return size_ == 0; }

    // Whether a string comes before this one; `readable`: bytes from its first one on.
    bool is_above(const uint8_t* string, size_t size, size_t readable) const {
        const size_t common = std::min(size, size_);
        size_t i = 0;
        for (; i + 8 <= common; i += 8) {
            const auto a = load<uint64_t>(string + i);
            const auto b = load<uint64_t>(padded_.data() + i);
            if (a != b) return in_order(a) < in_order(b);
        }
        if (i < common) {
            if (i + 8 <= readable) {
                const uint64_t rest = low_bits(static_cast<int64_t>(8 * (common - i)));
                const uint64_t a = load<uint64_t>(string + i) & rest;
                const uint64_t b = load<uint64_t>(padded_.data() + i) & rest;
                if (a != b) return in_order(a) < in_order(b);
            } else {
                const int order = std::memcmp(string + i, padded_.data() + i, common - i);
                if (order != 0) return order < 0;
            }
        }
        return size < size_;
    }

  private:
    size_t size_;
    std::vector<uint8_t> padded_;
};

class Matcher {
  public:
    explicit Matcher(const StringTest& test)
        : low_(test.low), end_(test.end.value_or(Bytes())), has_end_(test.end.has_value()), inside_(test.inside) {}

    bool operator()(const uint8_t* string, size_t size, size_t readable) const {
        const bool is_inside = (low_.empty() || !low_.is_above(string, size, readable)) &&
                               (!has_end_ || end_.is_above(string, size, readable));
        return is_inside == inside_;
    }

  private:
    Bound low_;
    Bound end_;
    bool has_end_;
    bool inside_;
};

// Moves runs of strings to the front, in place.
template <class Offset>
class Front {
  public:
    explicit Front(const DecodedStrings& strings)
        : strings_(strings), first_(offset(0)), position_(first_) {}

    void add(int64_t string) {
        if (string != end_) {
            flush();
            start_ = string;
        }
        end_ = string + 1;
    }

    int64_t finish() {
        flush();
        return static_cast<int64_t>(position_ - first_);
    }

  private:
    Offset offset(int64_t i) const {
        return load<Offset>(strings_.offsets + i * static_cast<int64_t>(sizeof(Offset)));
    }

    void flush() {
        if (start_ == end_) return;
        const Offset from = offset(start_);
        const auto size = static_cast<Offset>(offset(end_) - from);
        const auto back = static_cast<Offset>(from - position_);
        if (back > 0) move(static_cast<int64_t>(position_), static_cast<int64_t>(from), static_cast<int64_t>(size));
        for (int64_t i = start_; i < end_; ++i) {
            const auto end = static_cast<Offset>(offset(i + 1) - back);
            store(strings_.offsets + ++count_ * static_cast<int64_t>(sizeof(Offset)), end);
        }
        position_ += size;
        start_ = end_;
    }

    // Where it does no harm, in steps that may go beyond the end.
    void move(int64_t to, int64_t from, int64_t size) {
        struct Block {
            uint64_t low;
            uint64_t high;
        };
        constexpr int64_t step = sizeof(Block);
        uint8_t* const at = strings_.data + to;
        const uint8_t* const source = strings_.data + from;
        if (from - to < step || from + size + step > strings_.num_bytes) {
            std::memmove(at, source, static_cast<size_t>(size));
            return;
        }
        for (int64_t i = 0; i < size; i += step) store(at + i, load<Block>(source + i));
    }

    const DecodedStrings& strings_;
    Offset first_;
    Offset position_;
    int64_t count_ = 0;
    int64_t start_ = 0;
    int64_t end_ = 0;
};

// Clears the flags of strings that do not match, and calls keep(string) for those that do.
template <class Offset, class Matches, class Keep>
void for_each_match(const DecodedStrings& strings, MutableBytes flags, Matches matches, Keep keep) {
    constexpr int64_t width = sizeof(Offset);
    int64_t string = 0;
    for (uint8_t& flag : flags) {
        if (!flag) {
            string += !strings.are_flagged;
            continue;
        }
        if (string == strings.count) fail("more flags than strings");
        const uint8_t* at = strings.offsets + string * width;
        const auto start = load<Offset>(at);
        const auto size = static_cast<size_t>(load<Offset>(at + width) - start);
        const bool is_valid = strings.validity == nullptr || (strings.validity[string / 8] >> (string % 8) & 1) != 0;
        const auto readable = static_cast<size_t>(strings.num_bytes - static_cast<int64_t>(start));
        if (is_valid && matches(strings.data + start, size, readable)) {
            keep(string);
        } else {
            flag = 0;
        }
        ++string;
    }
}

template <class Matches>
int64_t move_matches(const DecodedStrings& strings, MutableBytes flags, Matches matches) {
    return with_offset(strings.offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        Front<Offset> front(strings);
        for_each_match<Offset>(strings, flags, matches, [&](int64_t string) { front.add(string); });
        return front.finish();
    });
}

}  // namespace

void keep_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    const Matcher matcher(test);
    with_offset(strings.offset_bits,
                [&](auto offset) { for_each_match<decltype(offset)>(strings, flags, matcher, [](int64_t) {}); });
}

int64_t filter_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    return move_matches(strings, flags, Matcher(test));
}

int64_t compact_strings(const DecodedStrings& strings, MutableBytes flags) {
    return move_matches(strings, flags, [](const uint8_t*, size_t, size_t) { return true; });
}

}  // namespace lance
