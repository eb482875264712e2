#include "string_matching.h"

#include <algorithm>
#include <type_traits>
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

struct Block {
    uint64_t low;
    uint64_t high;
};
constexpr int64_t kBlock = sizeof(Block);

// Whether bytes may be moved to the front in steps that go beyond their end.
bool can_copy_blocks(const DecodedStrings& strings, int64_t to, int64_t from, int64_t size) {
    return from - to >= kBlock && from + size + kBlock <= strings.num_bytes;
}

void copy_blocks(uint8_t* to, const uint8_t* from, int64_t size) {
    for (int64_t i = 0; i < size; i += kBlock) store(to + i, load<Block>(from + i));
}

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

    void move(int64_t to, int64_t from, int64_t size) {
        if (can_copy_blocks(strings_, to, from, size)) {
            copy_blocks(strings_.data + to, strings_.data + from, size);
        } else {
            std::memmove(strings_.data + to, strings_.data + from, static_cast<size_t>(size));
        }
    }

    const DecodedStrings& strings_;
    Offset first_;
    Offset position_;
    int64_t count_ = 0;
    int64_t start_ = 0;
    int64_t end_ = 0;
};

struct Nothing {
    void operator()(int64_t) const {}
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
        flag = static_cast<uint8_t>(is_valid && matches(strings.data + start, size, readable));
        if constexpr (!std::is_same_v<Keep, Nothing>) {
            if (flag) keep(string);
        }
        ++string;
    }
}

// Moves strings one by one, those that are to be dropped as well, which the next ones overwrite: a branch for each that
// cannot be predicted takes longer.
template <class Offset>
int64_t compact_mixed(const DecodedStrings& strings, Bytes flags) {
    constexpr int64_t width = sizeof(Offset);
    const auto first = load<Offset>(strings.offsets);
    Offset position = first;
    Offset from = first;
    int64_t count = 0;
    for (size_t i = 0; i < flags.size(); ++i) {
        const auto end = load<Offset>(strings.offsets + static_cast<int64_t>(i + 1) * width);
        const auto size = static_cast<int64_t>(end - from);
        const auto to = static_cast<int64_t>(position);
        if (can_copy_blocks(strings, to, static_cast<int64_t>(from), size)) {
            copy_blocks(strings.data + to, strings.data + from, size);
        } else if (flags[i]) {
            std::memmove(strings.data + to, strings.data + from, static_cast<size_t>(size));
        }
        position += static_cast<Offset>((end - from) * flags[i]);
        count += flags[i];
        store(strings.offsets + count * width, position);
        from = end;
    }
    return static_cast<int64_t>(position - first);
}

// Of strings of which more than one in so many is another than most, the next one cannot be predicted.
constexpr int64_t kStringsPerChange = 8;

template <class Offset>
int64_t compact(const DecodedStrings& strings, MutableBytes flags) {
    if (size_of(flags) > strings.count) fail("more flags than strings");
    const int64_t num_left = count_flags(flags);
    if (std::min(num_left, size_of(flags) - num_left) * kStringsPerChange > size_of(flags)) {
        return compact_mixed<Offset>(strings, flags);
    }
    Front<Offset> front(strings);
    for (size_t i = 0; i < flags.size(); ++i) {
        if (flags[i]) front.add(static_cast<int64_t>(i));
    }
    return front.finish();
}

}  // namespace

void keep_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    const Matcher matcher(test);
    with_offset(strings.offset_bits,
                [&](auto offset) { for_each_match<decltype(offset)>(strings, flags, matcher, Nothing()); });
}

int64_t filter_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    const Matcher matcher(test);
    return with_offset(strings.offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        if (!strings.are_flagged) {
            for_each_match<Offset>(strings, flags, matcher, Nothing());
            return compact<Offset>(strings, flags);
        }
        // which flag belongs to a string is not known afterwards
        Front<Offset> front(strings);
        for_each_match<Offset>(strings, flags, matcher, [&](int64_t string) { front.add(string); });
        return front.finish();
    });
}

int64_t compact_strings(const DecodedStrings& strings, MutableBytes flags) {
    return with_offset(strings.offset_bits, [&](auto offset) { return compact<decltype(offset)>(strings, flags); });
}

}  // namespace lance
