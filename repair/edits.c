/* Lists of text edits.  One owner at a time. */
#include <stdlib.h>

#include "repair/gg_repair.h"
#include "repair/syntax.h"

void gg_edits_add(gg_edits *edits, gg_span span, gg_str text) {
    gg_edit edit = {span, text};
    gg_list_push(&edits->list, edit);
}

void gg_edits_clear(gg_edits *edits) {
    gg_list_clear(&edits->list);
    edits->setting = (gg_setting){0};
    edits->copies = false;
}

static int by_start(const void *a, const void *b) {
    const gg_edit *x = a, *y = b;
    if (x->span.start != y->span.start) return x->span.start < y->span.start ? -1 : 1;
    return (x->span.end > y->span.end) - (x->span.end < y->span.end);
}

int gg_edits_sort(gg_edits *edits, gg_error *err) {
    if (edits->list.len) qsort(edits->list.items, edits->list.len, sizeof(gg_edit), by_start);
    for (size_t i = 1; i < edits->list.len; i++)
        if (edits->list.items[i].span.start < edits->list.items[i - 1].span.end)
            return gg_fail(err, GG_EPARAMS, "two edits overlap at byte %u", edits->list.items[i].span.start);
    return 0;
}

int gg_edits_apply(gg_text **out, const gg_text *text, const gg_edits *edits, gg_error *err) {
    gg_buf result;
    gg_buf_init(&result, GG_MAX_DOCUMENT_BYTES);
    gg_str bytes = gg_text_bytes(text);
    size_t at = 0;
    int error = 0;
    for (size_t i = 0; i < edits->list.len; i++) {
        const gg_edit *edit = &edits->list.items[i];
        if (edit->span.start < at || edit->span.end < edit->span.start || edit->span.end > bytes.len) {
            error = gg_fail(err, GG_EPARAMS, "an edit lies outside the text or over another");
            goto cleanup;
        }
        gg_buf_append(&result, gg_str_slice(bytes, at, edit->span.start));
        gg_buf_append(&result, edit->text);
        at = edit->span.end;
    }
    gg_buf_append(&result, gg_str_slice(bytes, at, bytes.len));
    if (result.overflow)
        error = gg_fail(err, GG_ETOOBIG, "the edited document would be over the limit");
    else
        error = gg_text_new(out, gg_buf_str(&result), err);

cleanup:
    gg_buf_clear(&result);
    return error;
}

/* Does each line end in \r\n? */
static bool is_all_crlf(gg_str bytes) {
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.ptr[i] == '\n' && (i == 0 || bytes.ptr[i - 1] != '\r')) return false;
    return true;
}

void gg__keep_line_ends(const gg_text *before, gg_edits *edits, gg_arena *arena) {
    gg_str bytes = gg_text_bytes(before);
    if (!gg_str_contains(bytes, GG_STR("\r\n"))) return;
    bool all = is_all_crlf(bytes);
    for (size_t i = 0; i < edits->list.len; i++) {
        gg_edit *e = &edits->list.items[i];
        uint32_t end = e->span.end;
        if (end > 0 && end < bytes.len && bytes.ptr[end - 1] == '\r' && bytes.ptr[end] == '\n') e->span.end--;
        if (e->span.start > e->span.end) e->span.start = e->span.end;
        gg_buf text;
        gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
        for (size_t at = 0; at < e->text.len; at++) {
            char c = e->text.ptr[at];
            bool ends = c == '\r' && at + 1 < e->text.len && e->text.ptr[at + 1] == '\n';
            bool bare = c == '\n' && (at == 0 || e->text.ptr[at - 1] != '\r');
            if (bare && all) gg_buf_append_char(&text, '\r');
            if (c != '\r' || ends) gg_buf_append_char(&text, c);
        }
        e->text = gg_arena_str(arena, gg_buf_str(&text));
        gg_buf_clear(&text);
    }
}
