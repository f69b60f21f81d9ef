/* `graphglue-lsp explain GB0170`: an id by itself, with the before/after that a test runs.  Threads: any. */
#include <ctype.h>
#include <string.h>

#include "analysis/costs.h"
#include "analysis/explain/explain.h"

#define ID_DIGITS 4

gg_str gg_id_normal(gg_str id, gg_arena *arena) {
    id = gg_str_trim(id);
    gg_str digits = id;
    if (id.len > 2 && tolower((unsigned char)id.ptr[0]) == 'g' && tolower((unsigned char)id.ptr[1]) == 'b')
        digits = gg_str_slice(id, 2, id.len);
    if (digits.len == 0 || digits.len > ID_DIGITS) return id;
    for (size_t i = 0; i < digits.len; i++)
        if (!isdigit((unsigned char)digits.ptr[i])) return id;
    return gg_arena_printf(arena, "GB%.*s%.*s", (int)(ID_DIGITS - digits.len), "0000", GG_STR_ARG(digits));
}

gg_str gg_explain_url(gg_str id, gg_arena *arena) {
    gg_str digits = gg_str_slice(gg_id_normal(id, arena), 2, SIZE_MAX);
    return gg_arena_printf(arena, "https://meta-pytorch.org/compile-graph-break-site/gb/gb%.*s.html",
                           GG_STR_ARG(digits));
}

static void put_heading(gg__writer *w, const char *text) {
    gg__put(w, w->markdown ? "## " : "");
    gg__put(w, text);
    gg__put(w, w->markdown ? "\n\n" : ":\n");
}

static void put_section(gg__writer *w, gg_str file, const char *title) {
    put_heading(w, title);
    gg__put_template(w, gg__text_section(file, title, NULL), NULL, GG__QUOTED_CODE_BYTES);
    gg__put(w, "\n\n");
}

/* The subjects a variant is for.  Texts name them by patterns; the stars around a name only help to match it. */
static void put_subjects(gg__writer *w, gg_str patterns) {
    static const struct {
        const char *pattern, *words;
    } named[] = {{"symbolic", "a number not known while tracing"},
                 {"subscript", "a subscript"},
                 {"a method of a string", "a method of a string"},
                 {"_CachedForward.*", "a module made by `torch.jit.trace`"}};
    for (size_t at = 0; at < patterns.len;) {
        size_t comma = gg_str_find(patterns, GG_STR(","), at);
        if (at > 0) gg__put(w, ", ");
        gg_str name = gg_str_trim(gg_str_slice(patterns, at, comma == SIZE_MAX ? patterns.len : comma));
        at = comma == SIZE_MAX ? patterns.len : comma + 1;
        const char *words = NULL;
        for (size_t i = 0; i < GG_COUNT(named); i++)
            if (gg_str_is(name, named[i].pattern)) words = named[i].words;
        if (gg_str_starts_with(name, GG_STR("*"))) name = gg_str_slice(name, 1, name.len);
        if (gg_str_ends_with(name, GG_STR("*")) && !gg_str_ends_with(name, GG_STR(".*")))
            name = gg_str_slice(name, 0, name.len - 1);
        if (words)
            gg__put(w, words);
        else
            gg__put_code(w, name, GG__QUOTED_CODE_BYTES);
    }
}

static void put_variants(gg__writer *w, gg_str file) {
    gg_str patterns, body;
    for (size_t at = 0; gg__text_next_variant(file, "How to fix", &at, &patterns, &body);) {
        gg__put(w, w->markdown ? "- With " : "  With ");
        put_subjects(w, patterns);
        gg__put(w, ": ");
        gg__put_template(w, body, NULL, GG__QUOTED_CODE_BYTES);
        gg__put(w, "\n");
    }
    gg__put(w, "\n");
}

static void put_our_text(gg__writer *w, gg_str file) {
    put_section(w, file, "What happens");
    put_section(w, file, "Why it breaks");
    put_section(w, file, "How to fix");
    put_variants(w, file);
    put_heading(w, "Before");
    gg__put_block(w, gg__text_section(file, "Before", NULL));
    gg__put(w, "\n");
    put_heading(w, "After");
    gg__put_block(w, gg__text_section(file, "After", NULL));
    gg__put(w, "\n");
}

static void put_composed(gg__writer *w, const gg_registry_row *row, gg_arena *arena) {
    put_heading(w, "Why it breaks");
    gg_str why = gg__without_places(row->explanation, arena);
    if (why.len == 0) why = GG_STR("Dynamo has no rule for it while it traces.");
    gg__put_sentence(w, why);
    gg__put(w, "\n\n");
    put_heading(w, "How to fix");
    gg_str *hints = GG_ARENA_ARRAY(arena, gg_str, row->hint_count + 1);
    for (size_t i = 0; i < row->hint_count; i++) hints[i] = gg__without_places(row->hints[i], arena);
    gg__put_hints(w, hints, row->hint_count, gg__generic_fix(gg_break_category(row->id, row->type)));
    gg__put(w, "\n\n");
}

int gg_explain_id(gg_buf *out, gg_str id, const gg_registry *registry, bool markdown, gg_error *err) {
    gg_arena *arena = gg_arena_new();
    gg__writer w = {.markdown = markdown};
    gg_buf_init(&w.buf, GG__EXPLANATION_BYTES);
    int rc = 0;
    gg_registry_row row = {.hint_count = 0};
    id = gg_id_normal(id, arena);
    gg_str file = gg__text_find(id);
    bool known = gg_registry_find(registry, id, &row);
    if (file.len == 0 && !known) {
        rc = gg_fail(err, GG_ENOTFOUND, "no graph break is called %.*s%s", GG_STR_ARG(id),
                     registry ? "" : " here, and torch's own list was not found (is torch installed?)");
        goto cleanup;
    }
    gg__put(&w, markdown ? "# " : "");
    (void)gg_buf_append(&w.buf, id);
    gg__put(&w, ": ");
    gg__put_words(&w, file.len > 0 ? gg__text_title(file) : row.type);
    gg__put(&w, "\n\n");
    (void)gg_buf_printf(&w.buf, "Category: ");
    for (const char *c = gg_break_category(id, row.type); *c; c++)
        (void)gg_buf_append_char(&w.buf, *c == '_' ? ' ' : *c);
    gg__put(&w, "\n\n");
    if (file.len > 0) {
        put_our_text(&w, file);
    } else {
        put_composed(&w, &row, arena);
    }
    if (known && row.explanation.len > 0) {
        gg__put_quote(&w, "Dynamo's own words:", row.explanation);
        gg__put(&w, "\n");
    }
    gg_str url = gg_explain_url(id, arena);
    if (!gg_is_rule(id)) (void)gg_buf_printf(&w.buf, "More: %.*s\n", GG_STR_ARG(url)); /* else torch has no id for it */
    rc = gg_buf_append(out, gg_buf_str(&w.buf));
    if (rc != 0) gg_fail(err, rc, "the explanation is over the limit of the buffer");

cleanup:
    gg_buf_clear(&w.buf);
    gg_arena_free(arena);
    return rc;
}
