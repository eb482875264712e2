// Binds the kernels on the metadata of tables and data files, and the filter of keys.
#include <algorithm>

#include "arrow/ipc_column.h"
#include "bind/python.h"
#include "file/columns.h"
#include "predicates/key_filter.h"
#include "schema/schema_fields.h"
#include "table/fragments.h"
#include "table/named_files.h"

using namespace nanobind::literals;

namespace lance {

namespace {

nb::object to_pages(const StoredColumn& column) {
    nb::list pages;
    for (const StoredPage& page : column.pages) {
        nb::list buffers;
        for (size_t i = 0; i < page.buffers.size(); i += 2) {
            buffers.append(nb::make_tuple(page.buffers[i], page.buffers[i + 1]));
        }
        const nb::object encoding = page.encoding ? nb::object(to_bytes(*page.encoding)) : nb::none();
        pages.append(nb::make_tuple(page.num_rows, buffers, encoding));
    }
    return pages;
}

nb::str to_text(Bytes bytes) { return nb::str(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

nb::object to_columns(const std::vector<StoredField>& fields) {
    nb::list names, ids, parent_ids, types, nullable, with_more;
    // neighboring fields mostly have one type
    Bytes type;
    nb::str type_text("");
    for (const StoredField& field : fields) {
        if (!std::ranges::equal(field.logical_type, type)) {
            type_text = to_text(field.logical_type);
            type = field.logical_type;
        }
        if (field.has_more) with_more.append(names.size());
        names.append(to_text(field.name));
        ids.append(field.id);
        parent_ids.append(field.parent_id);
        types.append(type_text);
        nullable.append(field.nullable);
    }
    return nb::make_tuple(names, ids, parent_ids, types, nullable, with_more);
}

Bytes held_bytes(nb::handle bytes) {
    return {reinterpret_cast<const uint8_t*>(PyBytes_AsString(bytes.ptr())),
            static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

// page: (num_rows, buffers, encoding, priority), whose bytes stay where they are
WrittenPage to_written_page(nb::handle page) {
    const auto parts = nb::cast<nb::tuple>(page);
    if (parts.size() != 4) throw nb::type_error("a page is not a tuple of four");
    WrittenPage written{to_count(parts[0]), {}, held_bytes(nb::cast<nb::bytes>(parts[2])), to_count(parts[3])};
    for (const nb::handle buffer : nb::cast<nb::tuple>(parts[1])) {
        const auto range = nb::cast<nb::tuple>(buffer);
        if (range.size() != 2) throw nb::type_error("a buffer is not a start and an end");
        written.buffers.push_back(to_count(range[0]));
        written.buffers.push_back(to_count(range[1]));
        if (written.buffers.back() < *(written.buffers.end() - 2)) fail("a buffer ends before its start");
    }
    return written;
}

}  // namespace

void bind_table(nb::module_& m) {
    m.def(
        "split_manifest",
        [](const InputBuffer& manifest) {
            const SplitManifest split = without_lock([&] { return split_manifest(manifest); });
            return nb::make_tuple(to_bytes(split.fragments), to_bytes(split.rest));
        },
        "manifest"_a);
    m.def(
        "fragment_table",
        [](const InputBuffer& fragments, bool with_bounds) {
            std::vector<int64_t> table = without_lock([&] { return fragment_table(fragments, with_bounds); });
            const size_t num_rows = table.size() / kNumFragmentColumns;
            return to_numpy(std::move(table), {num_rows, kNumFragmentColumns});
        },
        "fragments"_a, "with_bounds"_a);
    nb::class_<FragmentNames>(m, "FragmentNames", nb::is_final())
        .def(nb::init<>())
        .def(
            "add",
            [](FragmentNames& self, const InputBuffer& fragments) {
                const NamedFiles named = without_lock([&] { return self.add(fragments); });
                nb::list files;
                for (const NamedFile& file : named.files) {
                    const nb::object base = file.base_id ? nb::object(nb::int_(*file.base_id)) : nb::none();
                    files.append(nb::make_tuple(file.kind, base, nb::str(file.name.data(), file.name.size())));
                }
                nb::list left;
                for (const int64_t position : named.left) left.append(position);
                return nb::make_tuple(files, left);
            },
            "fragments"_a);
    m.def(
        "key_filter",
        [](const InputBuffer& keys, Count width, Count bits) {
            return to_bytes(without_lock([&] { return key_filter(keys, width, bits); }));
        },
        "keys"_a, "width"_a, "bits"_a);
    m.def(
        "passing_keys",
        [](const InputBuffer& keys, Count width, const InputBuffer& flags) {
            return to_numpy(without_lock([&] { return passing_keys(keys, width, flags); }));
        },
        "keys"_a, "width"_a, "flags"_a);
    // with the GIL, these: they take less time than giving it back
    m.def(
        "schema_fields", [](const InputBuffer& manifest) { return to_columns(schema_fields(manifest)); }, "manifest"_a);
    m.def("schema_part", [](const InputBuffer& manifest) { return to_bytes(schema_part(manifest)); }, "manifest"_a);
    m.def(
        "ipc_column",
        [](const InputBuffer& file) {
            const IpcColumn column = ipc_column(file);
            nb::list batches;
            for (const IpcValues& each : column.batches) {
                batches.append(nb::make_tuple(each.num_rows, each.start, each.size, each.num_bytes, each.codec));
            }
            return nb::make_tuple(column.is_signed, batches);
        },
        "file"_a);
    m.def(
        "parse_column",
        [](const InputBuffer& metadata, Count file_size) {
            const StoredColumn column = parse_column(metadata, file_size);
            return nb::make_tuple(to_bytes(column.encoding), to_pages(column));
        },
        "metadata"_a, "file_size"_a);
    m.def(
        "serialize_column",
        [](const nb::bytes& encoding, const nb::list& pages) {
            std::vector<WrittenPage> written;
            for (const nb::handle page : pages) written.push_back(to_written_page(page));
            return to_bytes(serialize_column(held_bytes(encoding), written));
        },
        "encoding"_a, "pages"_a);
    m.def(
        "num_rows_of_file", [](const InputBuffer& descriptor) { return num_rows_of_file(descriptor); }, "descriptor"_a);
}

}  // namespace lance
