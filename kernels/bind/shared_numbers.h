// Enumerations that Python shares: what they and their members are called there, and arguments that are one of them.
//
// Python takes the numbers from here, see numbers.cpp; no number stands in both languages.
#pragma once

#include <algorithm>
#include <iterator>

#include "arrow/ipc_column.h"
#include "bind/python.h"
#include "encodings/compression.h"
#include "encodings/decode.h"
#include "layouts/open_page.h"
#include "predicates/filter_loops.h"
#include "predicates/pair_matching.h"
#include "schema/json_columns.h"
#include "search/distance_loops.h"
#include "search/word_dictionary.h"
#include "stream/batch_shape.h"
#include "table/fragments.h"
#include "table/named_files.h"

namespace lance {

template <class E>
struct Member {
    const char* name;
    E value;
};

// The name in Python, and all members.
template <class E>
struct Shared;

template <>
struct Shared<Compression> {
    static constexpr const char* kName = "Compression";
    static constexpr Member<Compression> kMembers[] = {{"LZ4", Compression::kLz4}, {"ZSTD", Compression::kZstd}};
};

template <>
struct Shared<FragmentColumn> {
    static constexpr const char* kName = "FragmentColumn";
    static constexpr Member<FragmentColumn> kMembers[] = {
        {"START", kStart},
        {"SIZE", kSize},
        {"ID", kId},
        {"PHYSICAL_ROWS", kPhysicalRows},
        {"NUM_FILES", kNumFiles},
        {"SIZE_BYTES", kSizeBytes},
        {"HAS_DELETIONS", kHasDeletions},
        {"NUM_DELETED_ROWS", kNumDeletedRows},
        {"NUM_OVERLAYS", kNumOverlays},
        {"ROW_IDS_FORM", kRowIdsForm},
        {"ROW_IDS_LEAST", kRowIdsLeast},
        {"ROW_IDS_GREATEST", kRowIdsGreatest},
        {"CREATED_AT_FORM", kCreatedAtForm},
        {"CREATED_AT_LEAST", kCreatedAtLeast},
        {"CREATED_AT_GREATEST", kCreatedAtGreatest},
        {"LAST_UPDATED_AT_FORM", kLastUpdatedAtForm},
        {"LAST_UPDATED_AT_LEAST", kLastUpdatedAtLeast},
        {"LAST_UPDATED_AT_GREATEST", kLastUpdatedAtGreatest},
        {"HAS_LEGACY_FILES", kHasLegacyFiles},
    };
    static_assert(std::size(kMembers) == kNumFragmentColumns);
};

template <>
struct Shared<IpcCodec> {
    static constexpr const char* kName = "IpcCodec";
    static constexpr Member<IpcCodec> kMembers[] = {
        {"NONE", IpcCodec::kNone}, {"LZ4_FRAME", IpcCodec::kLz4Frame}, {"ZSTD", IpcCodec::kZstd}};
};

template <>
struct Shared<JsonFaultKind> {
    static constexpr const char* kName = "JsonFaultKind";
    static constexpr Member<JsonFaultKind> kMembers[] = {{"DAMAGED", JsonFaultKind::kDamaged},
                                                         {"UNSUPPORTED", JsonFaultKind::kUnsupported},
                                                         {"MISMATCH", JsonFaultKind::kMismatch}};
};

template <>
struct Shared<JsonResult> {
    static constexpr const char* kName = "JsonResult";
    static constexpr Member<JsonResult> kMembers[] = {
        {"TEXT", JsonResult::kText},         {"STRING", JsonResult::kString}, {"DOCUMENT", JsonResult::kDocument},
        {"INTEGER", JsonResult::kInteger},   {"FLOAT", JsonResult::kFloat},   {"BOOLEAN", JsonResult::kBoolean},
        {"SCALAR", JsonResult::kScalar},     {"EXISTS", JsonResult::kExists}, {"LENGTH", JsonResult::kLength},
        {"CONTAINS", JsonResult::kContains},
    };
};

template <>
struct Shared<JsonStepKind> {
    static constexpr const char* kName = "JsonStepKind";
    static constexpr Member<JsonStepKind> kMembers[] = {{"KEY", JsonStepKind::kKey},
                                                        {"INDEX", JsonStepKind::kIndex},
                                                        {"LAST", JsonStepKind::kLast},
                                                        {"EITHER", JsonStepKind::kEither}};
};

template <>
struct Shared<Metric> {
    static constexpr const char* kName = "Metric";
    static constexpr Member<Metric> kMembers[] = {
        {"L2", Metric::kL2}, {"COSINE", Metric::kCosine}, {"DOT", Metric::kDot}, {"HAMMING", Metric::kHamming}};
};

template <>
struct Shared<NamedKind> {
    static constexpr const char* kName = "NamedKind";
    static constexpr Member<NamedKind> kMembers[] = {
        {"DATA", NamedKind::kData}, {"DELETIONS", NamedKind::kDeletions}, {"EXTERNAL", NamedKind::kExternal}};
};

template <>
struct Shared<Outcome> {
    static constexpr const char* kName = "Outcome";
    static constexpr Member<Outcome> kMembers[] = {
        {"LESS", Outcome::kLess}, {"EQUAL", Outcome::kEqual}, {"GREATER", Outcome::kGreater}};
};

template <>
struct Shared<PageForm> {
    static constexpr const char* kName = "PageForm";
    static constexpr Member<PageForm> kMembers[] = {{"NONE", PageForm::kNone},
                                                    {"VALUES", PageForm::kValues},
                                                    {"PARTS", PageForm::kParts},
                                                    {"INDICES", PageForm::kIndices}};
};

template <>
struct Shared<SequenceForm> {
    static constexpr const char* kName = "SequenceForm";
    static constexpr Member<SequenceForm> kMembers[] = {{"NONE", SequenceForm::kNone},
                                                        {"INLINE", SequenceForm::kInline},
                                                        {"EXTERNAL", SequenceForm::kExternal},
                                                        {"HIDDEN_COLUMN", SequenceForm::kHiddenColumn}};
};

template <>
struct Shared<ShapeKind> {
    static constexpr const char* kName = "ShapeKind";
    static constexpr Member<ShapeKind> kMembers[] = {
        {"STRUCT", ShapeKind::kStruct}, {"LIST", ShapeKind::kList}, {"MAP", ShapeKind::kMap}};
};

template <>
struct Shared<Splitting> {
    static constexpr const char* kName = "Splitting";
    static constexpr Member<Splitting> kMembers[] = {{"WORDS", Splitting::kWords},
                                                     {"WHITESPACE", Splitting::kWhitespace},
                                                     {"WHOLE", Splitting::kWhole},
                                                     {"NGRAMS", Splitting::kNgrams}};
};

template <>
struct Shared<ValueOrder> {
    static constexpr const char* kName = "ValueOrder";
    static constexpr Member<ValueOrder> kMembers[] = {
        {"UNSIGNED", ValueOrder::kUnsigned}, {"SIGNED", ValueOrder::kSigned}, {"FLOAT", ValueOrder::kFloat}};
};

// A member of an enumeration, as itself or by its number. Other integers raise InvalidDataError when it is used, like a
// Count.
template <class E>
class Choice {
  public:
    operator E() const {
        const auto is_asked = [this](const Member<E>& each) { return static_cast<int64_t>(each.value) == number_; };
        if (!std::ranges::any_of(Shared<E>::kMembers, is_asked)) fail(number_, " is not a ", Shared<E>::kName);
        return static_cast<E>(number_);
    }

    bool acquire(PyObject* object) noexcept {
        PyObject* index = PyNumber_Index(object);
        if (!index) {
            PyErr_Clear();
            return false;
        }
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
        Py_DECREF(index);
        number_ = overflow != 0 ? INT64_MIN : number;
        return true;
    }

  private:
    int64_t number_ = INT64_MIN;
};

// Reads an item of a tuple in this way.
template <class E>
E to_choice(nb::handle object) {
    Choice<E> choice;
    if (!choice.acquire(object.ptr())) throw nb::type_error("a member of an enumeration, or its number, was expected");
    return choice;
}

}  // namespace lance

namespace nanobind::detail {

template <class E>
struct type_caster<lance::Choice<E>> {
    NB_TYPE_CASTER(lance::Choice<E>, const_name("int"))
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept { return value.acquire(source.ptr()); }
};

}  // namespace nanobind::detail
