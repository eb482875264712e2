// Bounds are compared by their first bytes, without a branch; the rest counts only if these are equal.
#include "predicates/string_matching.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "encodings/variable.h"
#include "predicates/passed_ranges.h"

namespace lance {

namespace {

// The first byte is the highest.
uint64_t in_order(uint64_t bytes) {
    bytes = (bytes & 0x00FF00FF00FF00FF) << 8 | (bytes >> 8 & 0x00FF00FF00FF00FF);
    bytes = (bytes & 0x0000FFFF0000FFFF) << 16 | (bytes >> 16 & 0x0000FFFF0000FFFF);
    return bytes << 32 | bytes >> 32;
}

// Strings are compared with the first bytes of bounds, this many at once.
constexpr size_t kTogether = 32;

// A string that others are compared with. is_short: it has no more than kTogether bytes
template <bool is_short>
class Bound {
  public:
    explicit Bound(Bytes bytes) : size_(bytes.size()), bytes_(bytes) {
        if (is_short) copy(padded_.data(), bytes.data(), size_of(bytes));
    }

    // Whether a string is below this one; `readable`: bytes from its first one on.
    bool is_above(const uint8_t* string, size_t size, size_t readable) const {
#ifdef __SSE2__
        if (is_short && readable >= kTogether) return is_above_at_once(string, size);
#endif
        const size_t common = std::min(size, size_);
        size_t i = 0;
        for (; i + 8 <= common; i += 8) {
            const auto a = load<uint64_t>(string + i);
            const auto b = load<uint64_t>(bytes_.data() + i);
            if (a != b) return in_order(a) < in_order(b);
        }
        const int order = i < common ? std::memcmp(string + i, bytes_.data() + i, common - i) : 0;
        return order != 0 ? order < 0 : size < size_;
    }

  private:
#ifdef __SSE2__
    // Without a branch: the first difference of strings cannot be predicted.
    bool is_above_at_once(const uint8_t* string, size_t size) const {
        const auto equal = [&](size_t i) {
            const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(string + i));
            const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(padded_.data() + i));
            return uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)))};
        };
        // Behind the common bytes the one with more of them is the greater one.
        const uint64_t stops = ~(equal(0) | equal(16) << 16) | uint64_t{1} << std::min(size, size_);
        const auto at = static_cast<size_t>(std::countr_zero(stops));
        const unsigned a = at < size ? string[at % kTogether] + 1U : 0;
        const unsigned b = at < size_ ? padded_[at % kTogether] + 1U : 0;
        return a < b;
    }
#endif

    size_t size_;
    Bytes bytes_;
    std::array<uint8_t, kTogether> padded_{};
};

// Strings before a bound, or all others.
template <bool is_short>
class BeforeBound {
  public:
    BeforeBound(Bytes bound, bool is_before) : bound_(bound), is_before_(is_before) {}

    bool operator()(const uint8_t* string, size_t size, size_t readable) const {
        return bound_.is_above(string, size, readable) == is_before_;
    }

  private:
    Bound<is_short> bound_;
    bool is_before_;
};

// Strings between two bounds, or all others.
template <bool is_short>
class BetweenBounds {
  public:
    BetweenBounds(Bytes low, Bytes end, bool inside) : low_(low), end_(end), inside_(inside) {}

    bool operator()(const uint8_t* string, size_t size, size_t readable) const {
        return (!low_.is_above(string, size, readable) && end_.is_above(string, size, readable)) == inside_;
    }

  private:
    Bound<is_short> low_;
    Bound<is_short> end_;
    bool inside_;
};

// Calls then(matches); matches(string, size, readable) returns whether a string matches.
template <class Then>
decltype(auto) with_matcher(const StringTest& test, Then then) {
    const auto with_bounds = [&](auto is_short) {
        if (!test.end) return then(BeforeBound<is_short>(test.low, !test.inside));
        if (test.low.empty()) return then(BeforeBound<is_short>(*test.end, test.inside));
        return then(BetweenBounds<is_short>(test.low, *test.end, test.inside));
    };
    const bool are_short = test.low.size() <= kTogether && test.end.value_or(Bytes()).size() <= kTogether;
    return are_short ? with_bounds(std::true_type()) : with_bounds(std::false_type());
}

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
    explicit Front(const DecodedStrings& strings) : strings_(strings), first_(offset(0)), position_(first_) {}

    // Appends strings [start, end).
    void add(int64_t start, int64_t end) {
        if (start != end_) {
            flush();
            start_ = start;
        }
        end_ = end;
    }

    int64_t finish() {
        flush();
        return static_cast<int64_t>(position_ - first_);
    }

  private:
    Offset offset(int64_t i) const { return load<Offset>(strings_.offsets + i * static_cast<int64_t>(sizeof(Offset))); }

    void flush() {
        if (start_ == end_) return;
        const Offset from = offset(start_);
        const auto size = static_cast<Offset>(offset(end_) - from);
        const auto back = static_cast<Offset>(from - position_);
        if (back > 0) move(static_cast<int64_t>(position_), static_cast<int64_t>(from), static_cast<int64_t>(size));
        if (back > 0 || count_ != start_) move_offsets(back);
        count_ += end_ - start_;
        position_ += size;
        start_ = end_;
    }

    void move_offsets(Offset back) {
        uint8_t* to = strings_.offsets + (count_ + 1) * static_cast<int64_t>(sizeof(Offset));
        int64_t i = start_;
        // All of some are read before one is written: they may become vectors.
        std::array<Offset, 8> some;
        for (; i + 8 <= end_; i += 8, to += sizeof(some)) {
            std::memcpy(some.data(), strings_.offsets + (i + 1) * static_cast<int64_t>(sizeof(Offset)), sizeof(some));
            for (Offset& end : some) end = static_cast<Offset>(end - back);
            std::memcpy(to, some.data(), sizeof(some));
        }
        for (; i < end_; ++i, to += sizeof(Offset)) store(to, static_cast<Offset>(offset(i + 1) - back));
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

// Clears the flags of strings that do not match; there is one string for each flag.
//
// num_bytes: readable from `data` on
template <class Offset, class Matches>
void keep_matches(const uint8_t* offsets, const uint8_t* data, int64_t num_bytes, const Matches& matches,
                  MutableBytes flags) {
    auto start = load<Offset>(offsets);
    for (size_t i = 0; i < flags.size(); ++i) {
        const auto end = load<Offset>(offsets + (i + 1) * sizeof(Offset));
        if (flags[i]) {
            const auto readable = static_cast<size_t>(num_bytes - static_cast<int64_t>(start));
            flags[i] = static_cast<uint8_t>(matches(data + start, static_cast<size_t>(end - start), readable));
        }
        start = end;
    }
}

// Clears the flags of strings that do not match, of which there is one for each set flag, and calls keep(string) for
// matches.
template <class Offset, class Matches, class Keep>
void keep_flagged(const DecodedStrings& strings, const Matches& matches, MutableBytes flags, Keep keep) {
    int64_t string = 0;
    for (uint8_t& flag : flags) {
        if (!flag) continue;
        if (string == strings.count) fail("more flags than strings");
        const uint8_t* at = strings.offsets + string * static_cast<int64_t>(sizeof(Offset));
        const auto start = load<Offset>(at);
        const auto size = static_cast<size_t>(load<Offset>(at + sizeof(Offset)) - start);
        const auto readable = static_cast<size_t>(strings.num_bytes - static_cast<int64_t>(start));
        flag = static_cast<uint8_t>(matches(strings.data + start, size, readable));
        if (flag) keep(string);
        ++string;
    }
}

template <class Offset, class Matches>
void keep_all(const DecodedStrings& strings, const Matches& matches, MutableBytes flags) {
    if (size_of(flags) > strings.count) fail("more flags than strings");
    keep_matches<Offset>(strings.offsets, strings.data, strings.num_bytes, matches, flags);
}

// Moves strings one by one, also dropped ones, which the next ones overwrite: an unpredictable branch for each takes
// longer.
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

// If more than one string in this many differs from most, the next one cannot be predicted.
constexpr int64_t kStringsPerChange = 8;

template <class Offset>
int64_t compact(const DecodedStrings& strings, MutableBytes flags) {
    if (size_of(flags) > strings.count) fail("more flags than strings");
    const int64_t num_left = count_flags(flags);
    if (std::min(num_left, size_of(flags) - num_left) * kStringsPerChange > size_of(flags)) {
        return compact_mixed<Offset>(strings, flags);
    }
    Front<Offset> front(strings);
    for_each_flagged_run(flags, [&](int64_t start, int64_t end) { front.add(start, end); });
    return front.finish();
}

}  // namespace

void match_strings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, const StringTest& test,
                   MutableBytes flags) {
    chunks.require_buffer_index(0);
    require_output(flags, rows.num_items(), "flags");
    const auto match = [&](auto offset, const auto& matches) {
        using Offset = decltype(offset);
        for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
            const auto count = static_cast<size_t>(piece.size());
            const MutableBytes of_piece = flags.subspan(static_cast<size_t>(piece.position), count);
            if (std::memchr(of_piece.data(), 1, count) == nullptr) return;
            const VariableChunk<Offset> chunk(chunks, piece);
            chunk.checked_bytes(piece);
            keep_matches<Offset>(chunk.offsets(piece.first), chunk.start(), chunk.num_bytes(), matches, of_piece);
        });
    };
    with_matcher(test,
                 [&](const auto& matches) { with_offset(offset_bits, [&](auto offset) { match(offset, matches); }); });
}

void match_stored_strings(Bytes offsets, Bytes data, const StringTest& test, MutableBytes flags) {
    require_input(offsets, multiply(size_of(flags) + 1, 8), "offsets");
    with_matcher(test, [&](const auto& matches) {
        keep_matches<uint64_t>(offsets.data(), data.data(), size_of(data), matches, flags);
    });
}

void keep_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    with_matcher(test, [&](const auto& matches) {
        with_offset(strings.offset_bits, [&](auto offset) {
            using Offset = decltype(offset);
            if (strings.are_flagged) {
                keep_flagged<Offset>(strings, matches, flags, [](int64_t) {});
            } else {
                keep_all<Offset>(strings, matches, flags);
            }
        });
    });
}

int64_t filter_strings(const DecodedStrings& strings, const StringTest& test, MutableBytes flags) {
    return with_offset(strings.offset_bits, [&](auto offset) {
        using Offset = decltype(offset);
        return with_matcher(test, [&](const auto& matches) {
            if (!strings.are_flagged) {
                keep_all<Offset>(strings, matches, flags);
                return compact<Offset>(strings, flags);
            }
            // which flag belongs to a string is not known afterwards
            Front<Offset> front(strings);
            keep_flagged<Offset>(strings, matches, flags, [&](int64_t string) { front.add(string, string + 1); });
            return front.finish();
        });
    });
}

}  // namespace lance
