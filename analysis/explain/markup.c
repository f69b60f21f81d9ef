/* Writing Markdown or plain text; what came from outside is escaped here and nowhere else.  Threads: any. */
#include <string.h>

#include "analysis/costs.h"
#include "analysis/explain/explain.h"

static void put_str(gg__writer *w, gg_str s) {
    (void)gg_buf_append(&w->buf, s); /* over the ceiling: buf.overflow tells, the explanation is cut */
}

static void put_char(gg__writer *w, char c) {
    (void)gg_buf_append_char(&w->buf, c);
}

void gg__put(gg__writer *w, const char *z) {
    (void)gg_buf_append_z(&w->buf, z);
}

static bool is_blank(char c) {
    return c == ' ' || (unsigned char)c < 0x20 || c == 0x7F;
}

static size_t longest_run(gg_str s, char c) {
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < s.len; i++) {
        run = s.ptr[i] == c ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* Cut at a UTF-8 boundary. */
static gg_str cut(gg_str s, size_t max_bytes) {
    if (s.len <= max_bytes) return s;
    size_t end = max_bytes;
    while (end > 0 && ((unsigned char)s.ptr[end] & 0xC0u) == 0x80u) end--;
    return gg_str_slice(s, 0, end);
}

void gg__put_code(gg__writer *w, gg_str code, size_t max_bytes) {
    gg_buf line;
    gg_buf_init(&line, code.len + 8);
    for (size_t i = 0; i < code.len; i++) {
        if (!is_blank(code.ptr[i])) {
            (void)gg_buf_append_char(&line, code.ptr[i]);
        } else if (line.len > 0 && line.ptr[line.len - 1] != ' ') {
            (void)gg_buf_append_char(&line, ' ');
        }
    }
    gg_str whole = gg_str_trim(gg_buf_str(&line));
    gg_str shown = cut(whole, max_bytes);
    size_t ticks = w->markdown ? longest_run(shown, '`') + 1 : 1;
    bool pad = w->markdown && shown.len > 0 && (shown.ptr[0] == '`' || shown.ptr[shown.len - 1] == '`');
    for (size_t i = 0; i < ticks; i++) put_char(w, '`');
    if (pad) put_char(w, ' ');
    put_str(w, shown);
    if (shown.len < whole.len) gg__put(w, "…");
    if (pad) put_char(w, ' ');
    for (size_t i = 0; i < ticks; i++) put_char(w, '`');
    gg_buf_clear(&line);
}

/* Length of the `code` that starts at s.ptr[at] with a single backtick and ends on the same line; 0 when it does not. */
static size_t code_span_len(gg_str s, size_t at) {
    if (s.ptr[at] != '`' || (at + 1 < s.len && s.ptr[at + 1] == '`')) return 0;
    for (size_t i = at + 1; i < s.len && s.ptr[i] != '\n'; i++) {
        if (s.ptr[i] != '`') continue;
        bool single = i > at + 1 && !(i + 1 < s.len && s.ptr[i + 1] == '`');
        return single ? i - at + 1 : 0;
    }
    return 0;
}

void gg__put_words(gg__writer *w, gg_str words) {
    static const char special[] = "\\`*_[]<>|~&$", special_at_line_start[] = "#+-=";
    for (size_t i = 0; i < words.len;) {
        size_t span = code_span_len(words, i);
        if (span > 0) {
            put_str(w, gg_str_slice(words, i, i + span));
            i += span;
            continue;
        }
        char c = words.ptr[i++];
        if (is_blank(c)) {
            if (w->buf.len > 0 && w->buf.ptr[w->buf.len - 1] != ' ') put_char(w, ' ');
            continue;
        }
        bool line_start = w->buf.len == 0 || w->buf.ptr[w->buf.len - 1] == '\n';
        bool marks = strchr(special, c) != NULL || (line_start && strchr(special_at_line_start, c) != NULL);
        if (w->markdown && marks) put_char(w, '\\');
        put_char(w, c);
    }
}

/* "{key|otherwise}" at the start of s: its length, or 0. */
static size_t place_len(gg_str s, gg_str *key, gg_str *otherwise) {
    size_t bar = gg_str_find(s, GG_STR("|"), 0), end = gg_str_find(s, GG_STR("}"), 0);
    if (s.len == 0 || s.ptr[0] != '{' || bar == SIZE_MAX || end == SIZE_MAX || bar > end) return 0;
    *key = gg_str_slice(s, 1, bar);
    *otherwise = gg_str_slice(s, bar + 1, end);
    return end + 1;
}

void gg__put_template(gg__writer *w, gg_str text, const gg__subject *subject, size_t max_code_bytes) {
    for (size_t i = 0; i < text.len;) {
        gg_str key, otherwise;
        size_t place = place_len(gg_str_slice(text, i, text.len), &key, &otherwise);
        if (place > 0) {
            if (subject != NULL && gg_str_is(key, "code") && subject->code.len > 0) {
                gg__put_code(w, subject->code, max_code_bytes);
            } else if (subject != NULL && gg_str_is(key, "value") && subject->value.len > 0) {
                put_str(w, subject->value);
            } else {
                put_str(w, otherwise);
            }
            i += place;
        } else if (text.ptr[i] == '\n' && !(i + 1 < text.len && text.ptr[i + 1] == '\n')) {
            put_char(w, ' '); /* a wrapped line */
            i++;
        } else if (text.ptr[i] == '\n') {
            gg__put(w, "\n\n");
            while (i < text.len && text.ptr[i] == '\n') i++;
        } else {
            put_char(w, text.ptr[i++]);
        }
    }
}

void gg__put_quote(gg__writer *w, const char *head, gg_str text) {
    const char *margin = w->markdown ? "> " : "  ";
    gg_str shown = cut(text, GG__QUOTED_REASON_BYTES);
    size_t ticks = longest_run(shown, '`') + 1;
    if (ticks < 3) ticks = 3;
    if (w->markdown) gg__put(w, margin);
    gg__put(w, head);
    gg__put(w, "\n");
    if (w->markdown) {
        gg__put(w, "> ");
        for (size_t i = 0; i < ticks; i++) put_char(w, '`');
        gg__put(w, "text\n");
    }
    while (shown.len > 0) {
        size_t end = gg_str_find(shown, GG_STR("\n"), 0);
        gg_str line = gg_str_slice(shown, 0, end);
        gg__put(w, margin);
        for (size_t i = 0; i < line.len; i++) put_char(w, (unsigned char)line.ptr[i] < 0x20 ? ' ' : line.ptr[i]);
        gg__put(w, "\n");
        shown = end == SIZE_MAX ? GG_STR_NULL : gg_str_slice(shown, end + 1, shown.len);
    }
    if (text.len > GG__QUOTED_REASON_BYTES) {
        gg__put(w, margin);
        gg__put(w, "…\n");
    }
    if (w->markdown) {
        gg__put(w, "> ");
        for (size_t i = 0; i < ticks; i++) put_char(w, '`');
        gg__put(w, "\n");
    }
}

void gg__put_block(gg__writer *w, gg_str fenced) {
    if (w->markdown) {
        put_str(w, fenced);
        gg__put(w, "\n");
        return;
    }
    while (fenced.len > 0) {
        size_t end = gg_str_find(fenced, GG_STR("\n"), 0);
        gg_str line = gg_str_slice(fenced, 0, end);
        if (!gg_str_starts_with(line, GG_STR("```"))) {
            if (line.len > 0) gg__put(w, "    ");
            put_str(w, line);
            gg__put(w, "\n");
        }
        fenced = end == SIZE_MAX ? GG_STR_NULL : gg_str_slice(fenced, end + 1, fenced.len);
    }
}

static void put_fence(gg__writer *w, size_t ticks, const char *language) {
    for (size_t i = 0; i < ticks; i++) put_char(w, '`');
    gg__put(w, language);
    put_char(w, '\n');
}

void gg__put_program(gg__writer *w, gg_str code) {
    size_t ticks = longest_run(code, '`') + 1;
    if (ticks < 3) ticks = 3;
    put_fence(w, ticks, "python");
    put_str(w, code);
    if (code.len == 0 || code.ptr[code.len - 1] != '\n') put_char(w, '\n');
    put_fence(w, ticks, "");
}
