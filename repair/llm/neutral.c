/* Other people's text inside a prompt: tags of ours in it are none.  Any thread.
 *
 * A `<` in front of one of our tags' names becomes a U+2039, which looks much the same to a model and closes nothing. */
#include "repair/llm/exchange.h"

#define ANGLE "\xe2\x80\xb9"

static const char *const tags[] = {"Code",  "Break Code", "Break Reason", GG__CODE_TAG, "Reason", "Context",
                                   "Facts", "Verdict",    "Lesson",       "Before",     "After",  "Explanation",
                                   "Input", "Task",       "Requirements", "System"};

static bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

/* Does the text go on with `/`, white space and a tag's name? */
static bool names_tag(gg_str rest) {
    size_t from = 0;
    while (from < rest.len && strchr("/ \t\r\n", rest.ptr[from])) from++;
    rest = gg_str_slice(rest, from, rest.len);
    for (size_t i = 0; i < GG_COUNT(tags); i++) {
        size_t at = 0;
        bool same = true;
        for (const char *z = tags[i]; *z && same; z++) {
            if (*z == ' ') {
                while (at < rest.len && rest.ptr[at] && strchr(" \t_-", rest.ptr[at])) at++;
                continue;
            }
            char c = at < rest.len ? rest.ptr[at++] : '\0';
            same =
                c == *z || (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == (*z >= 'A' && *z <= 'Z' ? *z - 'A' + 'a' : *z);
        }
        if (same && (at == rest.len || !in_name(rest.ptr[at]))) return true;
    }
    return false;
}

static gg_str exchanged(gg_str text, gg_str from, gg_str to, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    size_t done = 0;
    for (size_t at = 0; (at = gg_str_find(text, from, at)) != SIZE_MAX; at += from.len) {
        if (!names_tag(gg_str_slice(text, at + from.len, text.len))) continue;
        gg_buf_append(&out, gg_str_slice(text, done, at));
        gg_buf_append(&out, to);
        done = at + from.len;
    }
    gg_buf_append(&out, gg_str_slice(text, done, text.len));
    gg_str result = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return result;
}

gg_str gg__neutral(gg_str text, gg_arena *arena) {
    return exchanged(text, GG_STR("<"), GG_STR(ANGLE), arena);
}

gg_str gg__restore(gg_str answer, gg_str original, gg_arena *arena) {
    if (gg_str_contains(original, GG_STR(ANGLE))) return answer; /* it is the author's own */
    return exchanged(answer, GG_STR(ANGLE), GG_STR("<"), arena);
}
