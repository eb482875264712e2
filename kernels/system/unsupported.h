// Files that are in order, with something that this release does not read. In Python an error of its own.
#pragma once

#include "system/bytes.h"

namespace lance {

class Unsupported : public InvalidData {
  public:
    using InvalidData::InvalidData;
};

template <class... Parts>
[[noreturn]] void fail_unsupported(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    throw Unsupported(text.str());
}

}  // namespace lance
