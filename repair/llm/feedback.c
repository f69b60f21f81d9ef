/* A verdict in words that a model can act on: what differs and by how much, the error with its traceback, the breaks that are left and where.  Any
 * thread. */
#include "repair/llm/exchange.h"

enum { MAX_REASON_BYTES = 2000, MAX_ERROR_BYTES = 4000, MAX_BREAKS = 12, MAX_FEEDBACK_BYTES = 24 * 1024 };

/* The innermost frame of that file; NULL when there is none. */
static const gg_frame *frame_in(const gg_break *record, gg_str path) {
    for (size_t i = 0; i < record->stack_len; i++)
        if (gg_str_equal(record->stack[i].file, path)) return &record->stack[i];
    return NULL;
}

static gg_str first_of(gg_str text, size_t max) {
    text = gg_str_slice(text, 0, max);
    text.len = gg_utf8_valid_prefix(text);
    return text;
}

static void append_break(gg_buf *out, const gg_break *record, gg_str path, const gg_text *candidate) {
    const gg_frame *at = frame_in(record, path);
    gg_str words = record->explanation.len ? record->explanation : record->reason;
    gg_buf_printf(out, "- %.*s", GG_STR_ARG(record->id));
    if (at && at->line)
        gg_buf_printf(out, " in %.*s at `%.*s`", GG_STR_ARG(at->function),
                      GG_STR_ARG(gg_str_trim(gg_text_line(candidate, at->line - 1))));
    gg_buf_printf(out, ": %.*s\n", GG_STR_ARG(first_of(words, MAX_REASON_BYTES)));
}

/* The tail says which error it was. */
static gg_str last_of(gg_str text, size_t max) {
    size_t from = text.len > max ? text.len - max : 0;
    while (from < text.len && (text.ptr[from] & 0xC0) == 0x80) from++;
    return gg_str_slice(text, from, text.len);
}

gg_str gg__verdict_words(const gg_verdict *verdict, gg_str path, const gg_text *candidate, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, MAX_FEEDBACK_BYTES);
    if (verdict->accepted)
        gg_buf_printf(&out, "The results are right, and breaks went from %d to %d, but not all of them are gone.\n",
                      verdict->breaks_before, verdict->breaks_after);
    else
        gg_buf_printf(&out, "Outputs compared with the original: %.*s. Graph breaks: %d before, %d now.\n",
                      GG_STR_ARG(verdict->outputs), verdict->breaks_before, verdict->breaks_after);
    for (size_t i = 0; i < verdict->reason_count; i++)
        gg_buf_printf(&out, "- %.*s\n", GG_STR_ARG(first_of(verdict->reasons[i], MAX_REASON_BYTES)));
    size_t told = 0;
    for (size_t i = 0; i < verdict->entry_count; i++) {
        const gg_entry *after = &verdict->entries[i].after;
        bool failed = after->status == GG_ENTRY_EAGER_ERROR || after->status == GG_ENTRY_CAPTURE_ERROR ||
                      after->status == GG_ENTRY_TIMEOUT || after->status == GG_ENTRY_CRASHED;
        if (failed && after->message.len)
            gg_buf_printf(&out, "%.*s ended with:\n%.*s\n", GG_STR_ARG(after->name),
                          GG_STR_ARG(last_of(after->message, MAX_ERROR_BYTES)));
        for (size_t k = 0; k < after->break_count; k++) {
            if (told++ == 0) gg_buf_append_z(&out, "Breaks that are left:\n");
            if (told <= MAX_BREAKS) append_break(&out, &after->breaks[k], path, candidate);
        }
    }
    if (told > MAX_BREAKS) gg_buf_printf(&out, "- and %zu more\n", told - MAX_BREAKS);
    gg_str words = gg__neutral(gg_arena_str(arena, gg_buf_str(&out)), arena);
    gg_buf_clear(&out);
    return words;
}
