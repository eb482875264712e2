// Whether bytes are text.
#pragma once

#include "system/bytes.h"

namespace lance {

// Whether the bytes are UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(Bytes text);

}  // namespace lance
