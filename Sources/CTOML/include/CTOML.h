#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a visited value is. Dates, and tables and arrays in arrays, are `other`.
typedef enum {
    LARDER_TOML_TABLE,
    LARDER_TOML_STRING,
    LARDER_TOML_INTEGER,
    LARDER_TOML_FLOAT,
    LARDER_TOML_BOOLEAN,
    LARDER_TOML_OTHER
} larder_toml_kind;

/// Called for each table and value in the order of their lines; for an array once for each of its elements.
///
/// `keys` are the names from the root on. `text` is the string itself, else the value as TOML writes it.
typedef void (*larder_toml_visit)(void *context, const char *const *keys, size_t count, larder_toml_kind kind,
                                  const char *text, size_t length, unsigned line);

/// Parses a document by toml++, whose interface is C++.
///
/// Returns 0, or the line of the first error, of which `error` receives the description in at most `size` bytes.
unsigned larder_toml_parse(const char *text, size_t length, larder_toml_visit visit, void *context, char *error,
                           size_t size);

#ifdef __cplusplus
}
#endif
