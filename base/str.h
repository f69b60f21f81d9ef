/* gg_str: a borrowed slice of bytes.  It never owns what it points to and need not end in NUL. */
#ifndef GG_STR_H
#define GG_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct gg_str {
    const char *ptr; /* may be NULL only when len is 0 */
    size_t len;      /* bytes */
} gg_str;

#define GG_STR(literal) ((gg_str){(literal), sizeof(literal) - 1})
#define GG_STR_NULL     ((gg_str){NULL, 0})
/* For printf: "%.*s", GG_STR_ARG(s) */
#define GG_STR_ARG(s) (int)(s).len, ((s).ptr ? (s).ptr : "")

/* Here, so that what is compared with a literal costs no call: predictions and rules ask for names all the time. */
static inline gg_str gg_str_from(const char *z) { /* borrows; NULL gives the empty slice */
    gg_str s = {z, z ? strlen(z) : 0};
    return s;
}

static inline bool gg_str_equal(gg_str a, gg_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool gg_str_is(gg_str a, const char *z) {
    if (a.len && z && *z != a.ptr[0]) return false; /* most often, and quickly */
    return gg_str_equal(a, gg_str_from(z));
}

static inline bool gg_str_starts_with(gg_str s, gg_str prefix) {
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool gg_str_ends_with(gg_str s, gg_str suffix) {
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + (s.len - suffix.len), suffix.ptr, suffix.len) == 0);
}

int gg_str_compare(gg_str a, gg_str b); /* as memcmp, shorter first */
bool gg_str_contains(gg_str s, gg_str part);
gg_str gg_str_slice(gg_str s, size_t start, size_t end); /* clamps both */
gg_str gg_str_trim(gg_str s);                            /* ASCII white space, both ends */
/* First index at or after `from`, or SIZE_MAX. */
size_t gg_str_find(gg_str s, gg_str part, size_t from);
/* A NUL-terminated copy on the heap; the caller frees with gg_free. */
char *gg_str_dup(gg_str s);

/* Length of the valid UTF-8 prefix of s (== s.len when all of it is valid).  Surrogates and overlong forms are invalid. */
size_t gg_utf8_valid_prefix(gg_str s);
/* UTF-16 code units of a valid UTF-8 slice. */
size_t gg_utf16_length(gg_str s);

#endif
