// Converts JSON text to its stored form. A value is parsed into an arena that ends with its payload; a list or object
// then replaces the payloads of its members.
#include "schema/jsonb.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "schema/jsonb_value.h"
#include "system/utf8.h"

namespace lance {

namespace {

constexpr size_t kMaxPayload = (size_t{1} << 28) - 1;
// Of any double.
constexpr size_t kMostDigits = 767;
constexpr size_t kMaxMembers = (size_t{1} << 29) - 1;

struct Invalid {
    const char* reason;
};

struct Entry {
    uint32_t type;
    size_t start;
    size_t length;
};

template <typename T>
void append_big_endian(std::string& out, T value, size_t width = sizeof(T)) {
    for (size_t i = width; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

class Parser {
  public:
    Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    // The stored form of the whole text.
    std::string_view parse() {
        const Entry entry = value(0);
        space();
        if (at_ != end_) throw Invalid{"there is more behind the value"};
        if (entry.type != JsonType::kNested) pack(JsonKind::kScalar, 0, {entry}, 0);
        return arena_;
    }

  private:
    void space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    }

    char next() {
        space();
        if (at_ == end_) throw Invalid{"the text ends too early"};
        return *at_;
    }

    bool take(char wanted) {
        if (next() != wanted) return false;
        ++at_;
        return true;
    }

    void expect(char wanted, const char* reason) {
        if (!take(wanted)) throw Invalid{reason};
    }

    Entry value(int depth) {
        switch (next()) {
            case '{': return object(depth);
            case '[': return array(depth);
            case '"': return string();
            case 'n': return word("null", JsonType::kNull);
            case 't': return word("true", JsonType::kTrue);
            case 'f': return word("false", JsonType::kFalse);
            default: return number();
        }
    }

    Entry word(std::string_view wanted, uint32_t type) {
        if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, wanted.size()) != wanted) {
            throw Invalid{"a word that is no value"};
        }
        at_ += wanted.size();
        return {type, arena_.size(), 0};
    }

    Entry array(int depth) {
        check(depth);
        const size_t base = arena_.size();
        std::vector<Entry> items;
        ++at_;
        if (!take(']')) {
            do items.push_back(value(depth + 1));
            while (take(','));
            expect(']', "a list is not closed");
        }
        return pack(JsonKind::kArray, items.size(), items, base);
    }

    Entry object(int depth) {
        check(depth);
        const size_t base = arena_.size();
        std::vector<std::pair<Entry, Entry>> members;
        ++at_;
        if (!take('}')) {
            do {
                if (next() != '"') throw Invalid{"a key is not a string"};
                const Entry key = string();
                expect(':', "a key without a value");
                members.emplace_back(key, value(depth + 1));
            } while (take(','));
            expect('}', "an object is not closed");
        }
        const auto text = [this](const Entry& key) { return std::string_view(arena_).substr(key.start, key.length); };
        std::sort(members.begin(), members.end(),
                  [&](const auto& a, const auto& b) { return text(a.first) < text(b.first); });
        std::vector<Entry> entries;
        entries.reserve(2 * members.size());
        for (size_t i = 0; i < members.size(); ++i) {
            if (i > 0 && text(members[i - 1].first) == text(members[i].first)) {
                throw Invalid{"a key occurs twice in one object"};
            }
            entries.push_back(members[i].first);
        }
        for (const auto& member : members) entries.push_back(member.second);
        return pack(JsonKind::kObject, members.size(), entries, base);
    }

    static void check(int depth) {
        if (depth > kMostJsonLevels) throw Invalid{"more than 200 levels"};
    }

    // Replaces the bytes after `base` by a value with these entries.
    Entry pack(uint32_t kind, size_t count, const std::vector<Entry>& entries, size_t base) {
        if (count > kMaxMembers) throw Invalid{"a list or object of 2^29 values or more"};
        packed_.clear();
        append_big_endian(packed_, kind << 29 | static_cast<uint32_t>(count));
        for (const Entry& entry : entries) {
            if (entry.length > kMaxPayload) throw Invalid{"a value of 256 MiB or more"};
            append_big_endian(packed_, entry.type << 28 | static_cast<uint32_t>(entry.length));
        }
        for (const Entry& entry : entries) packed_.append(arena_, entry.start, entry.length);
        arena_.resize(base);
        arena_ += packed_;
        return {JsonType::kNested, base, arena_.size() - base};
    }

    Entry string() {
        const size_t start = arena_.size();
        ++at_;
        while (true) {
            const char* run = at_;
            while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<uint8_t>(*at_) >= 0x20) ++at_;
            arena_.append(run, at_);
            if (at_ == end_) throw Invalid{"a string is not closed"};
            if (*at_ == '"') break;
            if (*at_ != '\\') throw Invalid{"a control character in a string"};
            ++at_;
            escape();
        }
        ++at_;
        return {JsonType::kString, start, arena_.size() - start};
    }

    void escape() {
        if (at_ == end_) throw Invalid{"a string is not closed"};
        switch (*at_++) {
            case '"': arena_.push_back('"'); return;
            case '\\': arena_.push_back('\\'); return;
            case '/': arena_.push_back('/'); return;
            case 'b': arena_.push_back('\b'); return;
            case 'f': arena_.push_back('\f'); return;
            case 'n': arena_.push_back('\n'); return;
            case 'r': arena_.push_back('\r'); return;
            case 't': arena_.push_back('\t'); return;
            case 'u': return character();
            default: throw Invalid{"an unknown escape in a string"};
        }
    }

    void character() {
        uint32_t code = four_digits();
        if (code >= 0xDC00 && code < 0xE000) throw Invalid{"half of a surrogate pair"};
        if (code >= 0xD800 && code < 0xDC00) {
            if (end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') throw Invalid{"half of a surrogate pair"};
            at_ += 2;
            const uint32_t low = four_digits();
            if (low < 0xDC00 || low >= 0xE000) throw Invalid{"half of a surrogate pair"};
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        const auto put = [this](uint32_t byte) { arena_.push_back(static_cast<char>(byte)); };
        if (code < 0x80) {
            put(code);
        } else if (code < 0x800) {
            put(0xC0 | code >> 6);
            put(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            put(0xE0 | code >> 12);
            put(0x80 | (code >> 6 & 0x3F));
            put(0x80 | (code & 0x3F));
        } else {
            put(0xF0 | code >> 18);
            put(0x80 | (code >> 12 & 0x3F));
            put(0x80 | (code >> 6 & 0x3F));
            put(0x80 | (code & 0x3F));
        }
    }

    uint32_t four_digits() {
        uint32_t code = 0;
        if (end_ - at_ < 4) throw Invalid{"an escape of less than four digits"};
        const auto [stop, error] = std::from_chars(at_, at_ + 4, code, 16);
        if (error != std::errc() || stop != at_ + 4) throw Invalid{"an escape of less than four digits"};
        at_ = stop;
        return code;
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    void digits() {
        if (at_ == end_ || !is_digit(*at_)) throw Invalid{"a number that is not complete, or no value at all"};
        while (at_ != end_ && is_digit(*at_)) ++at_;
    }

    Entry number() {
        const char* first = at_;
        if (*at_ == '-') ++at_;
        if (at_ != end_ && *at_ == '0') {
            ++at_;
        } else {
            digits();
        }
        bool is_integer = true;
        if (at_ != end_ && *at_ == '.') {
            is_integer = false;
            ++at_;
            digits();
        }
        if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
            is_integer = false;
            ++at_;
            if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
            digits();
        }
        const size_t start = arena_.size();
        if (!is_integer || !integer(first)) floating(first);
        return {JsonType::kNumber, start, arena_.size() - start};
    }

    // Whether the digits are an integer of 64 bits, which is stored then.
    bool integer(const char* first) {
        if (*first == '-') {
            int64_t value = 0;
            if (std::from_chars(first, at_, value).ec != std::errc()) return false;
            if (value != 0) {
                tagged(0x40, static_cast<uint64_t>(value), 65 - std::countl_zero(static_cast<uint64_t>(~value)));
                return true;
            }
        } else {
            uint64_t value = 0;
            if (std::from_chars(first, at_, value).ec != std::errc()) return false;
            if (value != 0) {
                tagged(0x50, value, 64 - std::countl_zero(value));
                return true;
            }
        }
        arena_.push_back('\0');
        return true;
    }

    void tagged(uint8_t tag, uint64_t value, int num_bits) {
        arena_.push_back(static_cast<char>(tag));
        append_big_endian(arena_, value, num_bits <= 8 ? 1 : num_bits <= 16 ? 2 : num_bits <= 32 ? 4 : 8);
    }

    void floating(const char* first) {
        double value = 0;
        const auto [stop, error] = std::from_chars(first, at_, value);
        if (error == std::errc::result_out_of_range) throw Invalid{"a number beyond the range of doubles"};
        if (!has_digits(first, value))
            throw Invalid{"a number with digits that a double does not have: write it as text"};
        arena_.push_back('\x60');
        append_big_endian(arena_, std::bit_cast<uint64_t>(value));
    }

    // Whether the nearest double, with as many digits as the text has, is the text.
    bool has_digits(const char* first, double value) {
        digits_.clear();
        for (const char* c = first; c != at_ && *c != 'e' && *c != 'E'; ++c) {
            if (is_digit(*c) && (*c != '0' || !digits_.empty())) digits_.push_back(*c);
        }
        while (!digits_.empty() && digits_.back() == '0') digits_.pop_back();
        if (digits_.empty()) return true;
        if (digits_.size() <= std::numeric_limits<double>::digits10 &&
            std::abs(value) >= std::numeric_limits<double>::min()) {
            return true;
        }
        if (value == 0 || digits_.size() > kMostDigits) return false;
        char text[kMostDigits + 16];
        const auto end = text + sizeof(text);
        const double size = std::abs(value);
        // the shortest text rounds a tie away from zero, and the other one to an even digit
        return is_digits(text, std::to_chars(text, end, size, std::chars_format::scientific)) ||
               is_digits(text, std::to_chars(text, end, size, std::chars_format::scientific,
                                             static_cast<int>(digits_.size()) - 1));
    }

    // Whether a number in scientific form has the digits.
    bool is_digits(const char* text, std::to_chars_result written) const {
        if (written.ec != std::errc()) return false;
        std::string_view left = digits_;
        for (const char* c = text; c != written.ptr && *c != 'e'; ++c) {
            if (*c == '.') continue;
            if (left.empty() || *c != left.front()) return false;
            left.remove_prefix(1);
        }
        return left.empty();
    }

    const char* at_;
    const char* end_;
    std::string arena_;
    std::string packed_;
    std::string digits_;
};

}  // namespace

JsonFault jsonb_from_text(Bytes offsets, Bytes data, Bytes valid, MutableBytes out_offsets, MutableBytes out) {
    const int64_t count = size_of(valid);
    if (size_of(offsets) != 8 * (count + 1) || size_of(out_offsets) != 8 * (count + 1)) fail("offsets of another size");
    int64_t written = 0;
    std::memcpy(out_offsets.data(), &written, 8);
    for (int64_t i = 0; i < count; ++i) {
        if (valid[static_cast<size_t>(i)]) {
            const int64_t start = load<int64_t>(offsets.data() + 8 * i);
            const int64_t end = load<int64_t>(offsets.data() + 8 * i + 8);
            if (start < 0 || start > end || end > size_of(data)) fail("text ", i, " is outside of its buffer");
            const Bytes text = data.subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
            if (!is_utf8(text)) return {i, "it is not UTF-8"};
            try {
                Parser parser({reinterpret_cast<const char*>(text.data()), text.size()});
                const std::string_view stored = parser.parse();
                if (static_cast<int64_t>(stored.size()) > size_of(out) - written) fail("no room for text ", i);
                std::memcpy(out.data() + written, stored.data(), stored.size());
                written += static_cast<int64_t>(stored.size());
            } catch (const Invalid& invalid) {
                return {i, invalid.reason};
            }
        }
        std::memcpy(out_offsets.data() + 8 * (i + 1), &written, 8);
    }
    return {-1, ""};
}

}  // namespace lance
