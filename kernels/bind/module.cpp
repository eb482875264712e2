// Binds the kernels as lance_sql._kernels; lance_sql/_kernels.pyi documents the signatures. This file binds
// numbers and compression; other files of this folder bind the others.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bind/interpreter_calls.h"
#include "bind/python.h"
#include "bind/shared_numbers.h"
#include "encodings/compression.h"
#include "encodings/decode.h"
#include "system/unsupported.h"

using namespace nanobind::literals;

namespace lance {

void bind_arrays(nb::module_& m);
void bind_bloom(nb::module_& m);
void bind_encoding(nb::module_& m);
void bind_json(nb::module_& m);
void bind_table(nb::module_& m);
void bind_files(nb::module_& m);
void bind_pages(nb::module_& m);
void bind_reading(nb::module_& m);
void bind_zones(nb::module_& m);
void bind_index_building(nb::module_& m);
void bind_search(nb::module_& m);
void bind_streams(nb::module_& m);

namespace {

// The enumerations that Python shares as enum.IntEnum.
template <class E>
void bind(nb::module_& m) {
    nb::enum_<E> bound(m, Shared<E>::kName, nb::is_arithmetic());
    for (const Member<E>& each : Shared<E>::kMembers) bound.value(each.name, each.value);
}

void bind_numbers(nb::module_& m) {
    bind<Compression>(m);
    bind<FragmentColumn>(m);
    bind<IpcCodec>(m);
    bind<JsonFaultKind>(m);
    bind<JsonResult>(m);
    bind<JsonStepKind>(m);
    bind<Metric>(m);
    bind<NamedKind>(m);
    bind<Outcome>(m);
    bind<PageForm>(m);
    bind<SequenceForm>(m);
    bind<ShapeKind>(m);
    bind<Splitting>(m);
    bind<ValueOrder>(m);
}

// Decompresses if a library is missing; never released.
nb::object* decompress_in_python = nullptr;

std::string in_python(Compression compression, Bytes buffer) {
    const auto given = std::make_shared<std::string>(reinterpret_cast<const char*>(buffer.data()), buffer.size());
    const auto decompressed = std::make_shared<std::string>();
    const auto reason = std::make_shared<std::string>();
    call_interpreter([=] {
        try {
            const nb::object result = (*decompress_in_python)(compression, to_bytes(*given));
            const InputBuffer held = hold(result);
            const Bytes bytes = held;
            decompressed->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        } catch (nb::python_error& error) {
            *reason = nb::str(error.value()).c_str();
        }
    });
    if (!reason->empty()) fail(*reason);
    return *decompressed;
}

void bind_compression(nb::module_& m) {
    m.def(
        "decompress_with",
        [](nb::object decompress) {
            decompress_in_python = new nb::object(std::move(decompress));
            set_fallback(in_python);
        },
        "decompress"_a);
    m.def("use_compression_libraries", use_libraries, "are_used"_a);
    m.def(
        "compression_library",
        [](Choice<Compression> compression) -> std::optional<std::string> {
            std::string library = library_of(compression);
            return library.empty() ? std::nullopt : std::optional(std::move(library));
        },
        "compression"_a);
}

void bind_symbols(nb::module_& m) {
    m.def(
        "fsst_values",
        [](const InputBuffer& offsets, Count offset_bits, Count num_values, const InputBuffer& data,
           const InputBuffer& symbol_table, Count start_row, const OutputBuffer& out_offsets, Count out_offset_bits,
           const OutputBuffer& out) {
            Unlocked unlocked;
            const FsstProgress done = fsst_values(offsets, offset_bits, num_values, data, symbol_table, start_row,
                                                  out_offsets, out_offset_bits, out);
            return std::pair(done.num_rows, done.num_bytes);
        },
        "offsets"_a, "offset_bits"_a, "num_values"_a, "data"_a, "symbol_table"_a, "start_row"_a, "out_offsets"_a,
        "out_offset_bits"_a, "out"_a);
}

}  // namespace

}  // namespace lance

NB_MODULE(_kernels, m) {
    // Chunk tables stay in caches until the process ends; that is not a leak.
    nanobind::set_leak_warnings(false);
    const auto invalid = nanobind::exception<lance::InvalidData>(m, "InvalidDataError", PyExc_ValueError);
    // The one that was registered last is tried first.
    nanobind::exception<lance::Unsupported>(m, "UnsupportedDataError", invalid);
    lance::bind_numbers(m);
    lance::bind_compression(m);
    lance::bind_symbols(m);
    lance::bind_arrays(m);
    lance::bind_bloom(m);
    lance::bind_encoding(m);
    lance::bind_json(m);
    lance::bind_table(m);
    lance::bind_files(m);
    lance::bind_zones(m);
    lance::bind_search(m);
    lance::bind_index_building(m);
    lance::bind_pages(m);
    lance::bind_reading(m);
    lance::bind_streams(m);
}
