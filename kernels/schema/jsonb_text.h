// The text of stored JSON.
#pragma once

#include <string>

#include "schema/jsonb_value.h"
#include "system/buffers.h"

namespace lance {

// Text that grows value by value. Without spaces, as Python writes strings and numbers; infinity and NaN are null.
class JsonText {
  public:
    // Appends a document. Throws InvalidData for bytes that are not JSON, UnsupportedJson for numbers of other kinds
    // and for more than kMostJsonLevels levels. Nothing is appended then.
    void append(Bytes document);
    // Appends one entry of a document.
    void append(const JsonEntry& entry);
    // Appends the stored form of a document that is this scalar, instead of text.
    void append_scalar(const JsonEntry& entry);

    int64_t size() const { return size_; }
    void clear() { size_ = 0; }
    Bytes bytes() const { return {buffer_.data(), static_cast<size_t>(size_)}; }

  private:
    uint8_t* room(int64_t most);

    PooledBuffer buffer_;
    int64_t size_ = 0;
};

// The digits of a number, as Python writes it; at most kJsonDigits characters. Returns the end.
constexpr int64_t kJsonDigits = 32;
char* write_json_number(char* out, const JsonNumber& number);

}  // namespace lance
