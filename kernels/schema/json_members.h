// Members of stored JSON, and their values.
#pragma once

#include <optional>
#include <string>

#include "schema/json_columns.h"
#include "schema/jsonb_text.h"
#include "schema/jsonb_value.h"

namespace lance {

// The member at a path; nothing if there is none.
std::optional<JsonEntry> json_member(Bytes document, const JsonPath& path);

// The conversions of JsonResult. Bytes are valid until the text changes, or as long as the document.
std::optional<Bytes> json_text(const JsonEntry& member, JsonText& text);
std::optional<Bytes> json_string(const JsonEntry& member, JsonText& text);
std::optional<Bytes> json_scalar(const JsonEntry& member, JsonText& text);
std::optional<Bytes> json_document(const JsonEntry& member, JsonText& text);
std::optional<int64_t> json_integer(const JsonEntry& member);
std::optional<double> json_float(const JsonEntry& member);
std::optional<bool> json_boolean(const JsonEntry& member);
std::optional<int64_t> json_length(const JsonEntry& member);
bool json_contains(const JsonEntry& member, const std::string& wanted, JsonText& text);

}  // namespace lance
