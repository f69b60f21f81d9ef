/* The embedded texts: finding one, and its sections.  Threads: any. */
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/explain.h"

static int by_id(const void *key, const void *row) {
    return gg_str_compare(*(const gg_str *)key, gg_str_from(((const gg__explain_file *)row)->id));
}

gg_str gg__text_find(gg_str id) {
    const gg__explain_file *file =
        bsearch(&id, gg__explain_files, gg__explain_file_count, sizeof(gg__explain_files[0]), by_id);
    return file != NULL ? (gg_str){(const char *)file->bytes, file->len} : GG_STR_NULL;
}

static gg_str line_at(gg_str s, size_t at) {
    size_t end = gg_str_find(s, GG_STR("\n"), at);
    return gg_str_slice(s, at, end == SIZE_MAX ? s.len : end);
}

gg_str gg__text_title(gg_str file) {
    gg_str line = line_at(file, 0);
    size_t colon = gg_str_find(line, GG_STR(": "), 0);
    return colon == SIZE_MAX ? line : gg_str_slice(line, colon + 2, line.len);
}

/* The next section at or after *at: its heading without "## ", and its body. */
static bool next_section(gg_str file, size_t *at, gg_str *heading, gg_str *body) {
    size_t start = gg_str_find(file, GG_STR("\n## "), *at);
    if (start == SIZE_MAX) return false;
    *heading = line_at(file, start + 4);
    size_t from = start + 4 + heading->len;
    size_t end = gg_str_find(file, GG_STR("\n## "), from);
    if (end == SIZE_MAX) end = file.len;
    *body = gg_str_trim(gg_str_slice(file, from, end));
    *at = end;
    return true;
}

/* Whether a heading is of this section; its patterns, which are empty for the plain one. */
static bool is_section(gg_str heading, const char *title, gg_str *patterns) {
    gg_str name = gg_str_from(title);
    if (!gg_str_starts_with(heading, name)) return false;
    gg_str rest = gg_str_slice(heading, name.len, heading.len);
    if (rest.len > 0 && rest.ptr[0] != ':') return false;
    *patterns = gg_str_trim(gg_str_slice(rest, 1, rest.len));
    return true;
}

bool gg__glob_matches(gg_str pattern, gg_str name) {
    size_t star = gg_str_find(pattern, GG_STR("*"), 0);
    if (star == SIZE_MAX) return gg_str_equal(pattern, name);
    if (!gg_str_starts_with(name, gg_str_slice(pattern, 0, star))) return false;
    gg_str rest = gg_str_slice(pattern, star + 1, pattern.len);
    for (size_t i = star; i <= name.len; i++) /* patterns have two stars at most, names are short */
        if (gg__glob_matches(rest, gg_str_slice(name, i, name.len))) return true;
    return false;
}

static bool any_matches(gg_str patterns, const gg__subject *subject) {
    while (patterns.len > 0) {
        size_t comma = gg_str_find(patterns, GG_STR(","), 0);
        gg_str pattern = gg_str_trim(gg_str_slice(patterns, 0, comma));
        for (size_t i = 0; i < subject->name_count; i++)
            if (gg__glob_matches(pattern, subject->names[i])) return true;
        patterns = comma == SIZE_MAX ? GG_STR_NULL : gg_str_slice(patterns, comma + 1, patterns.len);
    }
    return false;
}

gg_str gg__text_section(gg_str file, const char *title, const gg__subject *subject) {
    gg_str heading, body, patterns, plain = GG_STR_NULL;
    for (size_t at = 0; next_section(file, &at, &heading, &body);) {
        if (!is_section(heading, title, &patterns)) continue;
        if (patterns.len == 0) plain = body;
        if (subject != NULL && any_matches(patterns, subject)) return body;
    }
    return plain;
}

bool gg__text_next_variant(gg_str file, const char *title, size_t *at, gg_str *patterns, gg_str *body) {
    gg_str heading;
    while (next_section(file, at, &heading, body))
        if (is_section(heading, title, patterns) && patterns->len > 0) return true;
    return false;
}
