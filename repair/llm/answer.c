/* Code as a model wrote it, made into code as the file would have it.  Any thread. */
#include "repair/llm/exchange.h"

/* The length of one of the prompt's own marks at `at`, with all of a reason.  *open: a reason was not closed, so none behind it is. */
static size_t mark_at(gg_str code, size_t at, bool *open) {
    static const char *const marks[] = {"Break Code", "Code", GG__CODE_TAG};
    bool closes;
    size_t len = gg__tag_at(code, at, "Break Reason", &closes);
    if (len && !closes && !*open) {
        for (size_t end = at + len; end < code.len; end++) {
            size_t last = gg__tag_at(code, end, "Break Reason", &closes);
            if (last && closes) return end + last - at;
        }
        *open = true;
    }
    for (size_t i = 0; len == 0 && i < GG_COUNT(marks); i++) len = gg__tag_at(code, at, marks[i], &closes);
    return len;
}

gg_str gg__answer_code(gg_str code, gg_str original, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, GG__MAX_ANSWER_BYTES);
    bool open = false;
    for (size_t at = 0; at < code.len;) {
        size_t len = code.ptr[at] == '<' ? mark_at(code, at, &open) : 0;
        if (len == 0 && code.ptr[at] == '\r') { /* lines end in \n until the file says otherwise */
            if (at + 1 == code.len || code.ptr[at + 1] != '\n') gg_buf_append_char(&out, '\n');
        } else if (len == 0) {
            gg_buf_append_char(&out, code.ptr[at]);
        }
        at += len ? len : 1;
    }
    gg_str text = gg__restore(gg_arena_str(arena, gg_buf_str(&out)), original, arena);
    gg_buf_clear(&out);
    return text;
}
