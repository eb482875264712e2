// Source: messages lance.table.DataFragment, DataFile, DeletionFile and ExternalFile; table format, deletion files.
#include "table/named_files.h"

#include <algorithm>
#include <array>

#include "proto/wire.h"

namespace lance {

namespace {

constexpr int64_t kManifestFragments = 2;
// Longer messages have own row ids, and differ from those of other versions.
constexpr size_t kMostKeptBytes = 4096;
constexpr uint64_t kLargestId = 0xFFFF'FFFF;
constexpr std::array kDeletionSuffixes = {".arrow", ".bin"};

// Thrown for fragments left to the caller.
struct Unusual {};

std::string ascii(Bytes text) {
    if (!std::ranges::all_of(text, [](uint8_t c) { return c < 0x80; })) throw Unusual();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

uint64_t number(const WireField& field) {
    if (field.type != WireType::kVarint) throw Unusual();
    return field.value;
}

std::optional<uint32_t> base_id(const WireField& field) {
    const uint64_t value = number(field);
    if (value > kLargestId) throw Unusual();
    return static_cast<uint32_t>(value);
}

Bytes message(const WireField& field) {
    if (field.type != WireType::kBytes) throw Unusual();
    return field.bytes;
}

NamedFile data_file(Bytes file) {
    NamedFile named{NamedKind::kData, std::nullopt, {}};
    for (const WireField& field : WireReader(file)) {
        if (field.number == 1) named.name = ascii(message(field));
        if (field.number == 7) named.base_id = base_id(field);
    }
    return named;
}

NamedFile deletion_file(Bytes file, uint64_t fragment_id) {
    std::optional<uint32_t> base;
    uint64_t type = 0;
    uint64_t read_version = 0;
    uint64_t id = 0;
    for (const WireField& field : WireReader(file)) {
        if (field.number == 1) type = number(field);
        if (field.number == 2) read_version = number(field);
        if (field.number == 3) id = number(field);
        if (field.number == 7) base = base_id(field);
    }
    if (type >= kDeletionSuffixes.size()) throw Unusual();
    return {NamedKind::kDeletions, base,
            std::to_string(fragment_id) + '-' + std::to_string(read_version) + '-' + std::to_string(id) +
                kDeletionSuffixes[type]};
}

NamedFile external_file(Bytes file) {
    NamedFile named{NamedKind::kExternal, std::nullopt, {}};
    for (const WireField& field : WireReader(file)) {
        if (field.number == 1) named.name = ascii(message(field));
    }
    return named;
}

// Groups fields that replace one another, so that the last one counts: 0 for other fields.
int group_of(int64_t number) {
    switch (number) {
        case 3: return 1;
        case 5:
        case 6:
        case 12: return 2;
        case 7:
        case 8:
        case 13: return 3;
        case 9:
        case 10:
        case 14: return 4;
        default: return 0;
    }
}

void add_files(Bytes fragment, std::vector<NamedFile>& files) {
    std::array<bool, 5> seen{};
    std::optional<Bytes> deletions;
    uint64_t id = 0;
    for (const WireField& field : WireReader(fragment)) {
        if (const int group = group_of(field.number); group != 0) {
            if (seen[static_cast<size_t>(group)]) throw Unusual();
            seen[static_cast<size_t>(group)] = true;
        }
        switch (field.number) {
            case 1: id = number(field); break;
            case 2: files.push_back(data_file(message(field))); break;
            case 3: deletions = message(field); break;
            case 6:
            case 8:
            case 10: files.push_back(external_file(message(field))); break;
            // overlays, and what later releases may add
            case 4:
            case 5:
            case 7:
            case 9:
            case 12:
            case 13:
            case 14: break;
            default: throw Unusual();
        }
    }
    if (id > kLargestId) throw Unusual();
    if (deletions) files.push_back(deletion_file(*deletions, id));
}

}  // namespace

NamedFiles FragmentNames::add(Bytes fragments) {
    NamedFiles named;
    const std::scoped_lock lock(mutex_);
    WireReader records(fragments);
    for (int64_t index = 0; !records.done(); ++index) {
        const WireField record = records.next();
        if (record.number != kManifestFragments || record.type != WireType::kBytes) {
            fail("field ", record.number, " of a manifest stands among its fragments");
        }
        const std::string_view key(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
        if (seen_.contains(key)) continue;
        const size_t before = named.files.size();
        try {
            add_files(record.bytes, named.files);
            if (key.size() <= kMostKeptBytes) seen_.emplace(key);
            continue;
        } catch (const Unusual&) {
        } catch (const std::invalid_argument&) {
        }
        named.files.resize(before);
        named.left.push_back(index);
    }
    return named;
}

}  // namespace lance
