// A member is found by its keys and positions; nothing else of a document is read.
#include "schema/json_members.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "system/utf8.h"

namespace lance {

namespace {

// Longer members are cut in messages.
constexpr size_t kMostShown = 60;

std::string_view view_of(Bytes text) { return {reinterpret_cast<const char*>(text.data()), text.size()}; }

bool is_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char given, char lower) {
        return (given >= 'A' && given <= 'Z' ? static_cast<char>(given - 'A' + 'a') : given) == lower;
    });
}

[[noreturn]] void refuse(const JsonEntry& member, const char* wanted) {
    JsonText text;
    text.append(member);
    std::string shown(view_of(text.bytes().subspan(0, std::min<size_t>(kMostShown, text.bytes().size()))));
    while (!is_utf8({reinterpret_cast<const uint8_t*>(shown.data()), shown.size()})) shown.pop_back();
    if (text.size() > static_cast<int64_t>(kMostShown)) shown += "...";
    throw JsonFailure(JsonFaultKind::kMismatch, 0, "the member " + shown + " is not " + wanted);
}

std::optional<JsonEntry> at_index(const JsonContainer& list, int64_t index) {
    if (list.kind() != JsonKind::kArray || index < 0 || index >= list.count()) return std::nullopt;
    JsonEntries entries = list.entries();
    for (int64_t i = 0; i < index; ++i) entries.next();
    return entries.next();
}

std::optional<JsonEntry> at_key(const JsonContainer& object, std::string_view key) {
    if (object.kind() != JsonKind::kObject) return std::nullopt;
    JsonEntries keys = object.entries();
    int64_t found = -1;
    for (int64_t i = 0; i < object.count(); ++i) {
        if (view_of(keys.next().payload) == key && found < 0) found = i;
    }
    if (found < 0) return std::nullopt;
    // behind the last key
    JsonEntries values = object.values();
    for (int64_t i = 0; i < found; ++i) values.next();
    return values.next();
}

std::optional<JsonEntry> stepped(const JsonEntry& from, const JsonStep& step) {
    if (from.type != JsonType::kNested) return std::nullopt;
    const JsonContainer inside(from.payload);
    switch (step.kind) {
        case JsonStepKind::kKey: return at_key(inside, step.key);
        case JsonStepKind::kIndex: return at_index(inside, step.index);
        case JsonStepKind::kLast: return at_index(inside, inside.count() - 1);
        default: return inside.kind() == JsonKind::kObject ? at_key(inside, step.key) : at_index(inside, step.index);
    }
}

// The number of digits before the point of a number without an exponent, or minus that of zeros behind it.
int64_t order_of(std::string_view text) {
    constexpr int64_t kFar = int64_t{1} << 40;
    const size_t mark = std::min(text.find_first_of("eE"), text.size());
    int64_t exponent = 0;
    if (mark < text.size()) {
        std::string_view digits = text.substr(mark + 1);
        const bool is_negative = digits.front() == '-';
        if (digits.front() == '+') digits.remove_prefix(1);
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (parsed.ec != std::errc()) exponent = is_negative ? -kFar : kFar;
        exponent = std::clamp(exponent, -kFar, kFar);
    }
    const auto point = static_cast<int64_t>(std::min(text.find('.'), mark));
    const auto first = static_cast<int64_t>(text.find_first_of("123456789"));
    return exponent + (first < point ? point - first : point - first + 1);
}

// The number that a text is, without a plus sign; infinity or zero where it is out of range.
std::optional<double> parsed(std::string_view text) {
    const char* end = text.data() + text.size();
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::invalid_argument || stop != end || text.back() == ')') return std::nullopt;
    if (error == std::errc()) return value;
    const double size = order_of(text) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return text.front() == '-' ? -size : size;
}

// Of a string, with or without a plus sign.
std::optional<double> number_of(std::string_view text) {
    if (!text.empty() && text.front() == '+') {
        text.remove_prefix(1);
        if (!text.empty() && text.front() == '-') return std::nullopt;
    }
    return text.empty() ? std::nullopt : parsed(text);
}

std::optional<int64_t> rounded(double value) {
    constexpr double kEnd = 9223372036854775808.0;
    const double whole = std::round(value);
    return whole >= -kEnd && whole < kEnd ? std::optional(static_cast<int64_t>(whole)) : std::nullopt;
}

std::optional<int64_t> integer_of(std::string_view text) {
    std::string_view digits = text;
    if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_signed_twice = digits.size() < text.size() && !digits.empty() && digits.front() == '-';
    if (error == std::errc() && stop == digits.data() + digits.size() && !is_signed_twice) return value;
    const std::optional<double> number = number_of(text);
    return number ? rounded(*number) : std::nullopt;
}

std::optional<int64_t> integer_of(const JsonNumber& number) {
    switch (number.form) {
        case JsonNumber::kSigned: return number.integer;
        case JsonNumber::kUnsigned:
            return number.natural <= std::numeric_limits<int64_t>::max()
                       ? std::optional(static_cast<int64_t>(number.natural))
                       : std::nullopt;
        default: return rounded(number.floating);
    }
}

}  // namespace

std::optional<JsonEntry> json_member(Bytes document, const JsonPath& path) {
    JsonEntry member = json_root(document);
    for (const JsonStep& step : path) {
        const std::optional<JsonEntry> next = stepped(member, step);
        if (!next) return std::nullopt;
        member = *next;
    }
    return member;
}

std::optional<Bytes> json_text(const JsonEntry& member, JsonText& text) {
    text.clear();
    text.append(member);
    return text.bytes();
}

std::optional<Bytes> json_string(const JsonEntry& member, JsonText& text) {
    if (member.type == JsonType::kNull) return std::nullopt;
    if (member.type != JsonType::kString) return json_text(member, text);
    if (!is_utf8(member.payload)) fail("a JSON string is not UTF-8");
    return member.payload;
}

std::optional<Bytes> json_scalar(const JsonEntry& member, JsonText& text) {
    if (member.type == JsonType::kNested) refuse(member, "a string, number or boolean");
    return json_string(member, text);
}

std::optional<Bytes> json_document(const JsonEntry& member, JsonText& text) {
    if (member.type == JsonType::kNested) return member.payload;
    text.clear();
    text.append_scalar(member);
    return text.bytes();
}

std::optional<int64_t> json_integer(const JsonEntry& member) {
    std::optional<int64_t> value;
    switch (member.type) {
        case JsonType::kNull: return std::nullopt;
        case JsonType::kTrue: return 1;
        case JsonType::kFalse: return 0;
        case JsonType::kNumber: value = integer_of(json_number(member.payload)); break;
        case JsonType::kString: value = integer_of(view_of(member.payload)); break;
        default: break;
    }
    if (!value) refuse(member, "an integer of 64 bits");
    return value;
}

std::optional<double> json_float(const JsonEntry& member) {
    std::optional<double> value;
    switch (member.type) {
        case JsonType::kNull: return std::nullopt;
        case JsonType::kTrue: return 1;
        case JsonType::kFalse: return 0;
        case JsonType::kNumber: return json_number(member.payload).to_double();
        case JsonType::kString: value = number_of(view_of(member.payload)); break;
        default: break;
    }
    if (!value) refuse(member, "a number");
    return value;
}

std::optional<bool> json_boolean(const JsonEntry& member) {
    if (member.type == JsonType::kNull) return std::nullopt;
    if (member.type == JsonType::kTrue || member.type == JsonType::kFalse) return member.type == JsonType::kTrue;
    if (member.type == JsonType::kString) {
        const std::string_view text = view_of(member.payload);
        if (is_word(text, "true") || is_word(text, "yes")) return true;
        if (is_word(text, "false") || is_word(text, "no")) return false;
    }
    refuse(member, "a boolean");
}

std::optional<int64_t> json_length(const JsonEntry& member) {
    if (member.type != JsonType::kNested) return 0;
    const JsonContainer inside(member.payload);
    return inside.kind() == JsonKind::kArray ? inside.count() : 0;
}

bool json_contains(const JsonEntry& member, const std::string& wanted, JsonText& text) {
    if (member.type != JsonType::kNested) return false;
    const JsonContainer list(member.payload);
    if (list.kind() != JsonKind::kArray) return false;
    JsonEntries items = list.entries();
    for (int64_t i = 0; i < list.count(); ++i) {
        const JsonEntry item = items.next();
        if (item.type == JsonType::kString && view_of(item.payload) == wanted) return true;
        if (view_of(*json_text(item, text)) == wanted) return true;
    }
    return false;
}

}  // namespace lance
