// Test for rows of a page.
#pragma once

#include <optional>
#include <variant>

#include "predicates/matching.h"

namespace lance {

struct RangeTest {
    KeyRange keys;
};
struct ItemsTest {
    Bytes answers;  // 0 or 1 for each item of the page's dictionary
};
struct ValidityTest {
    bool is_valid;
};

// Byte strings from `low` on, in the order of their bytes, and before `end`, or all others.
struct StringTest {
    Bytes low;
    std::optional<Bytes> end;
    bool inside;
};
using PageTest = std::variant<RangeTest, ItemsTest, ValidityTest, StringTest>;

}  // namespace lance
