// Documents become values of another array, row by row.
#include "schema/json_columns.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "arrow/arrow_node.h"
#include "arrow/column_builder.h"
#include "schema/json_members.h"
#include "schema/jsonb_text.h"
#include "system/bits.h"

namespace lance {

namespace {

constexpr int64_t kMostText = std::numeric_limits<int32_t>::max();

// The documents of an array of large_binary.
class Documents {
  public:
    explicit Documents(const ArrowArray& array) : array_(array) {
        if (array.n_buffers != 3 || array.n_children != 0) fail("an array that is not of documents");
        validity_ = array.null_count == 0 ? nullptr : static_cast<const uint8_t*>(array.buffers[0]);
    }

    int64_t count() const { return array_.length; }
    bool is_null(int64_t row) const {
        return validity_ != nullptr && load_bits(validity_, array_.offset + row, 1) == 0;
    }
    Bytes operator[](int64_t row) const {
        const auto* offsets = static_cast<const uint8_t*>(array_.buffers[1]) + 8 * (array_.offset + row);
        const auto start = load<int64_t>(offsets);
        const auto end = load<int64_t>(offsets + 8);
        if (start < 0 || end < start) fail("a JSON value from byte ", start, " to ", end);
        return {static_cast<const uint8_t*>(array_.buffers[2]) + start, static_cast<size_t>(end - start)};
    }

  private:
    const ArrowArray& array_;
    const uint8_t* validity_;
};

// Calls read(document, row), or null() for a NULL, for each document.
template <class Read, class Null>
void for_each(const Documents& documents, Read read, Null null) {
    for (int64_t row = 0; row < documents.count(); ++row) {
        if (documents.is_null(row)) {
            null();
            continue;
        }
        try {
            read(documents[row]);
        } catch (const JsonFailure& failure) {
            throw JsonFailure(failure.kind, row, failure.what());
        } catch (const UnsupportedJson& error) {
            throw JsonFailure(JsonFaultKind::kUnsupported, row, error.what());
        } catch (const InvalidData& error) {
            throw JsonFailure(JsonFaultKind::kDamaged, row, error.what());
        }
    }
}

ArrowArray finished(ColumnBuilder& builder) {
    ArrowArray array{};
    builder.finish(array);
    return array;
}

// Texts with 32-bit or 64-bit offsets.
class Texts {
  public:
    Texts(int64_t count, int64_t offset_bits) : builder_({true, offset_bits}, count), offset_bits_(offset_bits) {}

    void add(Bytes text) {
        if (offset_bits_ == 32 && builder_.num_bytes() + size_of(text) > kMostText) {
            throw JsonFailure(JsonFaultKind::kUnsupported, 0,
                              "more than 2 GiB of JSON text in one batch: write smaller batches");
        }
        copy(builder_.bytes(size_of(text)).data(), text.data(), size_of(text));
        builder_.add_bytes(size_of(text));
        end();
        builder_.add_valid(1);
    }
    void add_null() {
        end();
        builder_.add_null(1);
    }
    ArrowArray finish() { return finished(builder_); }

  private:
    // Stores the end of a text.
    void end() {
        uint8_t* ends = builder_.offsets(1).data();
        if (offset_bits_ == 32) {
            store(ends + 4, static_cast<int32_t>(builder_.num_bytes()));
        } else {
            store(ends + 8, builder_.num_bytes());
        }
    }

    ColumnBuilder builder_;
    int64_t offset_bits_;
};

ArrowArray texts_of(const ArrowArray& array, bool is_inside) {
    const Documents documents(array);
    Texts texts(documents.count(), 32);
    JsonText text;
    for_each(
        documents,
        [&](Bytes document) {
            if (is_inside && document.empty()) return texts.add_null();
            text.clear();
            text.append(document);
            texts.add(text.bytes());
        },
        [&] { texts.add_null(); });
    return texts.finish();
}

// The row of a chain that a value of its innermost array belongs to. Takes the chain apart.
int64_t row_of(ArrowArray& chain, int64_t value) {
    if (chain.n_children != 1) return value;
    NodeParts parts = take_apart(chain);
    value = row_of(parts.children.arrays.at(0), value);
    if (!parts.slots.offsets) return value;
    const uint8_t* offsets = parts.slots.offsets->data();
    int64_t slot = 0;
    const auto end_of = [&](int64_t at) {
        return parts.slots.offset_bits == 32 ? int64_t{load<int32_t>(offsets + 4 * (at + 1))}
                                             : load<int64_t>(offsets + 8 * (at + 1));
    };
    while (slot + 1 < parts.slots.num_slots && end_of(slot) <= value) ++slot;
    return slot;
}

template <class Value>
void add_number(ColumnBuilder& builder, const std::optional<Value>& value) {
    if (!value) {
        store(builder.values(1).data(), Value{});
        builder.add_null(1);
        return;
    }
    store(builder.values(1).data(), *value);
    builder.add_valid(1);
}

void add_bit(ColumnBuilder& builder, const std::optional<bool>& value) {
    builder.bits().append(value.value_or(false) ? 1 : 0, 1);
    if (value) {
        builder.add_valid(1);
    } else {
        builder.add_null(1);
    }
}

// Numbers or bits; find(document) returns an optional value.
template <class Value, class Find>
ArrowArray numbers(const Documents& documents, Find find) {
    constexpr bool kIsBit = std::is_same_v<Value, bool>;
    ColumnBuilder builder({false, kIsBit ? 1 : 64}, documents.count());
    const auto add = [&](const std::optional<Value>& value) {
        if constexpr (kIsBit) {
            add_bit(builder, value);
        } else {
            add_number(builder, value);
        }
    };
    for_each(documents, [&](Bytes document) { add(find(document)); }, [&] { add(std::nullopt); });
    return finished(builder);
}

// Texts or documents; write(entry, text) returns whether there is one.
template <class Write>
ArrowArray written(const Documents& documents, const JsonPath& path, Write write) {
    Texts texts(documents.count(), 64);
    JsonText text;
    for_each(
        documents,
        [&](Bytes document) {
            const std::optional<JsonEntry> member = json_member(document, path);
            const std::optional<Bytes> found = member ? write(*member, text) : std::nullopt;
            if (found) {
                texts.add(*found);
            } else {
                texts.add_null();
            }
        },
        [&] { texts.add_null(); });
    return texts.finish();
}

}  // namespace

ArrowArray json_texts(const ArrowArray& documents) { return texts_of(documents, false); }

void to_json_texts(ArrowArray& chain) {
    ArrowArray* leaf = &chain;
    while (leaf->n_children == 1) leaf = leaf->children[0];
    try {
        const ArrowArray texts = texts_of(*leaf, leaf != &chain);
        leaf->release(leaf);
        *leaf = texts;
    } catch (const JsonFailure& failure) {
        throw JsonFailure(failure.kind, row_of(chain, failure.row), failure.what());
    }
}

ArrowArray json_members(const ArrowArray& array, const JsonPath& path, JsonResult result, const std::string& wanted) {
    const Documents documents(array);
    const auto of_member = [&path](auto convert) {
        return [&path, convert](Bytes document) {
            const std::optional<JsonEntry> member = json_member(document, path);
            return member ? convert(*member) : std::nullopt;
        };
    };
    switch (result) {
        case JsonResult::kText: return written(documents, path, json_text);
        case JsonResult::kString: return written(documents, path, json_string);
        case JsonResult::kDocument: return written(documents, path, json_document);
        case JsonResult::kScalar: return written(documents, path, json_scalar);
        case JsonResult::kInteger: return numbers<int64_t>(documents, of_member(json_integer));
        case JsonResult::kFloat: return numbers<double>(documents, of_member(json_float));
        case JsonResult::kBoolean: return numbers<bool>(documents, of_member(json_boolean));
        case JsonResult::kLength: return numbers<int64_t>(documents, of_member(json_length));
        case JsonResult::kExists:
            return numbers<bool>(documents, [&](Bytes document) -> std::optional<bool> {
                return json_member(document, path).has_value();
            });
        case JsonResult::kContains: {
            JsonText text;
            return numbers<bool>(documents, [&](Bytes document) -> std::optional<bool> {
                const std::optional<JsonEntry> member = json_member(document, path);
                return member && json_contains(*member, wanted, text);
            });
        }
    }
    fail("no function ", static_cast<int>(result), " of documents");
}

}  // namespace lance
