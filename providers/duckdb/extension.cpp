// FROM 'x.lance' in DuckDB: an extension that turns a table of such a name into a call of a table macro.
//
// DuckDB calls replacement scans for unknown tables. Adding one needs a handle of the database, which extensions get
// and Python connections do not expose. The interface is DuckDB's stable one for extensions in C (C_STRUCT v1.2.0),
// which DuckDB 1.2 and later load: a table of functions, whose order never changes.
//
// Source: headers duckdb.h and duckdb_extension.h of DuckDB 1.5.

#include <cstddef>
#include <cstring>

namespace {

using Pointer = void*;
using Function = void (*)();

// Indices in the table of functions, and the functions.
constexpr std::size_t DESTROY_VALUE = 92;
constexpr std::size_t CREATE_VARCHAR = 93;
constexpr std::size_t ADD_REPLACEMENT_SCAN = 274;
constexpr std::size_t SET_FUNCTION_NAME = 275;
constexpr std::size_t ADD_PARAMETER = 276;

using Replacement = void (*)(Pointer info, const char* table_name, Pointer data);
using DestroyValue = void (*)(Pointer* value);
using CreateVarchar = Pointer (*)(const char* text);
using AddReplacementScan = void (*)(Pointer database, Replacement replacement, Pointer data, void (*free)(Pointer));
using SetFunctionName = void (*)(Pointer info, const char* name);
using AddParameter = void (*)(Pointer info, Pointer value);

// Argument of an extension when it is loaded.
struct Access {
    void (*set_error)(Pointer info, const char* message);
    Pointer* (*get_database)(Pointer info);
    const Function* (*get_api)(Pointer info, const char* version);
};

constexpr char API_VERSION[] = "v1.2.0";
// The macro that providers/duckdb/__init__.py makes in a connection, which takes the path.
constexpr char PATH_FUNCTION[] = "__lance_path";
constexpr char SUFFIX[] = ".lance";

// The table lives as long as the call that loads the extension, the functions as long as the process, for all
// databases.
struct Functions {
    DestroyValue destroy_value;
    CreateVarchar create_varchar;
    AddReplacementScan add_replacement_scan;
    SetFunctionName set_function_name;
    AddParameter add_parameter;
};

template <typename Signature>
Signature function(const Function* api, std::size_t place) {
    return reinterpret_cast<Signature>(api[place]);
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter; }

// Whether so much of a name is x.lance or x.lance/.
bool has_suffix(const char* name, std::size_t length) {
    while (length > 0 && name[length - 1] == '/') --length;
    const std::size_t suffix = sizeof(SUFFIX) - 1;
    if (length <= suffix) return false;
    for (std::size_t i = 0; i < suffix; ++i) {
        if (lower(name[length - suffix + i]) != SUFFIX[i]) return false;
    }
    return true;
}

// x.lance, x.lance/ and, with a version, a tag or a branch, x.lance@41 and x.lance@load/1. A folder may be called
// me@x.lance.
bool is_path(const char* name) {
    const std::size_t length = std::strlen(name);
    if (has_suffix(name, length)) return true;
    std::size_t word = length;
    while (word > 0 && name[word - 1] != '@') --word;
    return word > 0 && word < length && name[word - 1] == '@' && has_suffix(name, word - 1);
}

}  // namespace

#ifdef _WIN32
#define EXPORTED extern "C" __declspec(dllexport)
#else
#define EXPORTED extern "C" __attribute__((visibility("default")))
#endif

// Filled in by providers/duckdb/extension.py for an extension of the process, which DuckDB 2.0 gives no table.
EXPORTED Functions lance_sql_functions;
Functions lance_sql_functions = {};

namespace {

void replace(Pointer info, const char* table_name, Pointer) {
    if (table_name == nullptr || !is_path(table_name)) return;
    lance_sql_functions.set_function_name(info, PATH_FUNCTION);
    Pointer path = lance_sql_functions.create_varchar(table_name);
    lance_sql_functions.add_parameter(info, path);
    lance_sql_functions.destroy_value(&path);
}

}  // namespace

// Called when the extension is loaded into a database; DuckDB finds it by the name of the file.
EXPORTED bool lance_sql_init_c_api(Pointer info, const Access* access) {
    if (access->get_api != nullptr) {
        const Function* api = access->get_api(info, API_VERSION);
        if (api == nullptr) return false;
        lance_sql_functions = {
            function<DestroyValue>(api, DESTROY_VALUE),
            function<CreateVarchar>(api, CREATE_VARCHAR),
            function<AddReplacementScan>(api, ADD_REPLACEMENT_SCAN),
            function<SetFunctionName>(api, SET_FUNCTION_NAME),
            function<AddParameter>(api, ADD_PARAMETER),
        };
    }
    Pointer* database = access->get_database(info);
    if (database == nullptr || lance_sql_functions.add_replacement_scan == nullptr) {
        access->set_error(info, "lance_sql has no database, or no functions, to add a replacement scan with");
        return false;
    }
    lance_sql_functions.add_replacement_scan(*database, replace, nullptr, nullptr);
    return true;
}
