/* torch's graph_break_registry.json: id → type, context, explanation, hints.  Read at run time, so that a new torch needs no
 * release of ours.
 *
 * The file is made from torch's sources by text, and shows it: an id may have several variants of which some are bare
 * expressions ("_explanation"), and a hint that was concatenated from literals is a list of its pieces.
 * Threads: immutable once loaded. */
#include <stdlib.h>
#include <string.h>

#include "analysis/costs.h"
#include "analysis/private.h"

struct gg_registry {
    gg_arena *arena;
    gg_registry_row *rows; /* sorted by id */
    size_t count;
};

static gg_str string_at(gg_arena *arena, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value)) return GG_STR_NULL;
    return gg_arena_str(arena, (gg_str){json_string_value(value), json_string_length(value)});
}

/* Words, not a piece of Python that computes them. */
static bool is_prose(gg_str s) {
    return s.len > 0 && gg_str_contains(s, GG_STR(" ")) && s.ptr[0] != '"' && s.ptr[0] != '\'';
}

/* Joins the pieces of hints: a piece that ends in a space goes on in the next. */
static void read_hints(gg_arena *arena, const json_t *list, gg_registry_row *row) {
    size_t count = json_array_size(list);
    if (count == 0) return;
    row->hints = GG_ARENA_ARRAY(arena, gg_str, count);
    bool goes_on = false;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item)) continue;
        gg_str piece = {json_string_value(item), json_string_length(item)};
        if (goes_on) {
            gg_str *last = &row->hints[row->hint_count - 1];
            *last = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(*last), GG_STR_ARG(piece));
        } else {
            row->hints[row->hint_count++] = gg_arena_str(arena, piece);
        }
        goes_on = gg_str_ends_with(piece, GG_STR(" "));
    }
    for (size_t i = 0; i < row->hint_count; i++) row->hints[i] = gg_str_trim(row->hints[i]);
}

static void read_row(gg_arena *arena, const char *id, const json_t *variants, gg_registry_row *row) {
    row->id = gg_arena_str(arena, gg_str_from(id));
    const json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const json_t *variant = json_array_get(variants, i);
        const json_t *text = json_object_get(variant, "Explanation"), *hints = json_object_get(variant, "Hints");
        bool prose = is_prose((gg_str){json_string_value(text), json_string_length(text)});
        if (best == NULL || (prose && row->explanation.len == 0)) {
            best = variant;
            row->explanation = prose ? string_at(arena, variant, "Explanation") : GG_STR_NULL;
        }
        if (row->hint_count == 0) read_hints(arena, hints, row);
    }
    row->type = string_at(arena, best, "Gb_type");
    row->context = string_at(arena, best, "Context");
}

static int by_id(const void *a, const void *b) {
    return gg_str_compare(((const gg_registry_row *)a)->id, ((const gg_registry_row *)b)->id);
}

int gg_registry_parse(gg_registry **out, gg_str bytes, const char *name, gg_error *err) {
    json_error_t why;
    int rc = 0;
    json_t *json = json_loadb(bytes.ptr, bytes.len, 0, &why);
    *out = NULL;
    if (!json_is_object(json)) {
        rc = gg_fail(err, GG_EPARSE, "%s is not a registry of graph breaks: %s (line %d)", name,
                     json ? "no object" : why.text, json ? 1 : why.line);
        goto cleanup;
    }
    gg_registry *registry = gg_calloc(1, sizeof(*registry));
    registry->arena = gg_arena_new();
    registry->rows = GG_ARENA_ARRAY(registry->arena, gg_registry_row, json_object_size(json) + 1);
    const char *id;
    json_t *variants;
    json_object_foreach(json, id, variants) if (json_array_size(variants) > 0)
        read_row(registry->arena, id, variants, &registry->rows[registry->count++]);
    qsort(registry->rows, registry->count, sizeof(gg_registry_row), by_id);
    *out = registry;

cleanup:
    json_decref(json);
    return rc;
}

int gg_registry_load(gg_registry **out, const char *path, gg_error *err) {
    gg_text *text = NULL;
    *out = NULL;
    int rc = gg_text_read(&text, path, err);
    if (rc == 0) rc = gg_registry_parse(out, gg_text_bytes(text), path, err);
    gg_text_unref(&text);
    return rc;
}

void gg_registry_free(gg_registry *registry) {
    if (registry == NULL) return;
    gg_arena_free(registry->arena);
    gg_free(registry);
}

bool gg_registry_find(const gg_registry *registry, gg_str id, gg_registry_row *out) {
    gg_registry_row key = {.id = id};
    if (registry == NULL) return false;
    const gg_registry_row *row = bsearch(&key, registry->rows, registry->count, sizeof(key), by_id);
    if (row != NULL) *out = *row;
    return row != NULL;
}
