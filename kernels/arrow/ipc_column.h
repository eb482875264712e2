// Finds the values in an Arrow IPC file of one column of 32-bit integers.
#pragma once

#include <cstdint>
#include <vector>

#include "system/bytes.h"

namespace lance {

enum class IpcCodec : int8_t { kNone = -1, kLz4Frame = 0, kZstd = 1 };

// The values of one record batch: bytes [start, start + size) of the file, `num_rows` values once they are
// decompressed.
struct IpcValues {
    int64_t num_rows;
    int64_t start;
    int64_t size;
    int64_t num_bytes;  // once decompressed, padding included
    IpcCodec codec;
};

struct IpcColumn {
    bool is_signed;
    std::vector<IpcValues> batches;
};

// Rejects other files, other columns and NULLs. Nothing is decompressed; every position is inside the file.
//
//     file               ..., Footer, i32 size of it, "ARROW1"
//     table Footer       version, schema, dictionaries, recordBatches     slots 1, 3: Schema, Blocks
//     struct Block       i64 offset, i32 size of the metadata, 4 bytes, i64 size of the body after the metadata
//     metadata           0xffffffff, i32 size, Message; without the first word in old files
//     table Schema       endianness, fields
//     table Field        name, nullable, type's kind, type, dictionary, children
//     table Int          bits, is signed
//     table Message      version, header's kind, header
//     table RecordBatch  rows, nodes, buffers, compression
//     struct Node        i64 rows, i64 NULLs
//     struct Buffer      i64 offset and i64 size in the body; compressed: i64 uncompressed size, then the bytes
//
// Source: Arrow columnar format, IPC file format and body compression; flatbuffers, internals.
IpcColumn ipc_column(Bytes file);

}  // namespace lance
