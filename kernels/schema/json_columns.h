// Columns of stored JSON: their text, and their members, as Arrow arrays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arrow/arrow_abi.h"
#include "schema/jsonb_value.h"

namespace lance {

// Why a document cannot be read, or its member, which is valid, cannot become a result.
enum class JsonFaultKind : int { kDamaged = 0, kUnsupported = 1, kMismatch = 2 };

// Position of the value of a column that could not be read.
struct JsonFailure : InvalidData {
    JsonFailure(JsonFaultKind kind, int64_t row, const std::string& message)
        : InvalidData(message), kind(kind), row(row) {}

    JsonFaultKind kind;
    int64_t row;  // of the array, or of the whole chain
};

// Text of each document, NULL for NULL. documents: large_binary; throws JsonFailure
ArrowArray json_texts(const ArrowArray& documents);

// Replaces the documents in the innermost array of a chain, an array made by the kernels in which each has one child,
// by their texts. Inside lists and structs, documents without bytes are NULL. Throws JsonFailure, and leaves the chain
// without its values then.
void to_json_texts(ArrowArray& chain);

// A step into a list or an object. kEither: a member of an object, or an item of a list by its number.
enum class JsonStepKind : int { kKey = 0, kIndex = 1, kLast = 2, kEither = 3 };

struct JsonStep {
    JsonStepKind kind;
    std::string key;
    int64_t index;
};
using JsonPath = std::vector<JsonStep>;

// The result of a function of documents; bind/shared_numbers.h has its numbers. All but kExists, kLength and kContains
// are NULL for a null.
enum class JsonResult : int {
    kText = 0,      // JSON text, "null" for a null
    kString = 1,    // a string as it is; others as JSON text
    kDocument = 2,  // a document of its own, with a null as such
    kInteger = 3,   // int64: of numbers, rounded; of strings that are numbers; of booleans; others fail
    kFloat = 4,     // float64, likewise
    kBoolean = 5,   // of booleans, and of strings that are the words true or false; others fail
    kScalar = 6,    // text of a string, number or boolean; others fail
    kExists = 7,    // whether there is one
    kLength = 8,    // int64: the items of a list; 0 of others
    kContains = 9,  // whether it is a list with an item that is the wanted text, as JSON or as a string
};

// Result for the member at a path of each document, NULL without one. documents: large_binary; throws JsonFailure
ArrowArray json_members(const ArrowArray& documents, const JsonPath& path, JsonResult result,
                        const std::string& wanted);

}  // namespace lance
