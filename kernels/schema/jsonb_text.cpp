// Values are written into memory that is large enough for any text of so many bytes.
#include "schema/jsonb_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "system/utf8.h"

namespace lance {

namespace {

// No stored byte becomes more characters than this: a control character in a string becomes an escape. A value of
// no bytes becomes at most kFewest characters.
constexpr int64_t kGrowth = 6;
constexpr int64_t kFewest = 64;
// Larger values are measured first.
constexpr int64_t kLarge = 1 << 16;

constexpr char kDigits[] = "0123456789abcdef";

// The letter behind the backslash of a short escape; 0 for a character without one.
char short_escape(uint8_t character) {
    switch (character) {
        case '"': return '"';
        case '\\': return '\\';
        case '\b': return 'b';
        case '\f': return 'f';
        case '\n': return 'n';
        case '\r': return 'r';
        case '\t': return 't';
        default: return 0;
    }
}

// Whether eight characters of ASCII stand for themselves. Bytes above 127 count as such.
bool are_plain(uint64_t word) {
    constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
    const auto has_zero = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes & kHigh; };
    const uint64_t controls = (word - 0x20 * kOnes) & ~word & kHigh;
    return (controls | has_zero(word ^ ('"' * kOnes)) | has_zero(word ^ ('\\' * kOnes))) == 0;
}

// Characters that are written to memory with room for them.
class Written {
  public:
    explicit Written(uint8_t* at) : at_(at) {}

    void put(char character) { *at_++ = static_cast<uint8_t>(character); }
    void put(const void* text, size_t size) {
        if (size > 0) std::memcpy(at_, text, size);
        at_ += size;
    }
    uint8_t* at() const { return at_; }

  private:
    uint8_t* at_;
};

// Characters that are counted.
class Counted {
  public:
    void put(char) { ++count_; }
    void put(const void*, size_t size) { count_ += static_cast<int64_t>(size); }
    int64_t count() const { return count_; }

  private:
    int64_t count_ = 0;
};

template <class Out>
void write_string(Bytes text, Out& out) {
    if (!is_utf8(text)) fail("a JSON string is not UTF-8");
    out.put('"');
    const uint8_t* at = text.data();
    const uint8_t* end = at + text.size();
    while (at != end) {
        const uint8_t* run = at;
        while (end - at >= 8 && are_plain(load<uint64_t>(at))) at += 8;
        while (at != end && *at >= 0x20 && *at != '"' && *at != '\\') ++at;
        out.put(run, static_cast<size_t>(at - run));
        if (at == end) break;
        const uint8_t character = *at;
        if (character >= 0x20 && character != '"' && character != '\\') continue;
        ++at;
        out.put('\\');
        if (const char letter = short_escape(character)) {
            out.put(letter);
        } else {
            out.put("u00", 3);
            out.put(kDigits[character >> 4]);
            out.put(kDigits[character & 15]);
        }
    }
    out.put('"');
}

template <class Out>
void write_container(Bytes value, Out& out, int depth);

template <class Out>
void write_entry(const JsonEntry& entry, Out& out, int depth) {
    switch (entry.type) {
        case JsonType::kNull: return out.put("null", 4);
        case JsonType::kFalse: return out.put("false", 5);
        case JsonType::kTrue: return out.put("true", 4);
        case JsonType::kString: return write_string(entry.payload, out);
        case JsonType::kNested: return write_container(entry.payload, out, depth + 1);
        case JsonType::kNumber: {
            char digits[kJsonDigits];
            const char* end = write_json_number(digits, json_number(entry.payload));
            return out.put(digits, static_cast<size_t>(end - digits));
        }
        default: fail("a JSON entry of the unknown type ", entry.type);
    }
}

template <class Out>
void write_object(const JsonContainer& object, Out& out, int depth) {
    JsonEntries keys = object.entries();
    JsonEntries values = object.values();
    out.put('{');
    for (int64_t i = 0; i < object.count(); ++i) {
        if (i > 0) out.put(',');
        const JsonEntry key = keys.next();
        if (key.type != JsonType::kString) fail("a JSON key of type ", key.type, " is not a string");
        write_string(key.payload, out);
        out.put(':');
        write_entry(values.next(), out, depth);
    }
    out.put('}');
}

template <class Out>
void write_container(Bytes value, Out& out, int depth) {
    if (depth > kMostJsonLevels) throw UnsupportedJson("JSON nested more than 200 levels deep");
    const JsonContainer container(value);
    if (container.kind() == JsonKind::kObject) return write_object(container, out, depth);
    const bool is_array = container.kind() == JsonKind::kArray;
    JsonEntries entries = container.entries();
    if (is_array) out.put('[');
    for (int64_t i = 0; i < container.count(); ++i) {
        if (i > 0) out.put(',');
        write_entry(entries.next(), out, depth);
    }
    if (is_array) out.put(']');
}

char* copied(char* out, const char* text) {
    const size_t size = std::strlen(text);
    std::memcpy(out, text, size);
    return out + size;
}

char* write_double(char* out, double value) {
    if (!std::isfinite(value)) return copied(out, "null");
    const double size = std::fabs(value);
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
    const auto form = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
    char* end = std::to_chars(out, out + kJsonDigits, value, form).ptr;
    if (is_plain && std::memchr(out, '.', static_cast<size_t>(end - out)) == nullptr) end = copied(end, ".0");
    return end;
}

}  // namespace

char* write_json_number(char* out, const JsonNumber& number) {
    switch (number.form) {
        case JsonNumber::kSigned: return std::to_chars(out, out + kJsonDigits, number.integer).ptr;
        case JsonNumber::kUnsigned: return std::to_chars(out, out + kJsonDigits, number.natural).ptr;
        default: return write_double(out, number.floating);
    }
}

// Room for so many bytes at the end.
uint8_t* JsonText::room(int64_t most) {
    if (size_ + most > buffer_.capacity()) buffer_.grow(std::max(size_ + most, 2 * size_), size_);
    return buffer_.data() + size_;
}

void JsonText::append(const JsonEntry& entry) {
    // a list or object is at depth 0
    constexpr int kOutside = -1;
    int64_t most = kGrowth * size_of(entry.payload) + kFewest;
    if (most > kLarge) {
        Counted count;
        write_entry(entry, count, kOutside);
        most = count.count();
    }
    Written out(room(most));
    write_entry(entry, out, kOutside);
    size_ = out.at() - buffer_.data();
}

void JsonText::append(Bytes document) { append(JsonEntry{JsonType::kNested, document}); }

void JsonText::append_scalar(const JsonEntry& entry) {
    uint8_t* out = room(8 + size_of(entry.payload));
    store(out, __builtin_bswap32(JsonKind::kScalar << 29));
    store(out + 4, __builtin_bswap32(entry.type << 28 | static_cast<uint32_t>(entry.payload.size())));
    copy(out + 8, entry.payload.data(), size_of(entry.payload));
    size_ += 8 + size_of(entry.payload);
}

}  // namespace lance
