/* See api.h: what both APIs share. */
#include "server/llm/api.h"

#include <stdio.h>

const gg_api *gg_api_find(const char *name) {
    static const gg_api *const all[] = {&gg_api_openai, &gg_api_anthropic};
    for (size_t i = 0; name && i < GG_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------------------------- */

void gg_answer_init(gg_answer *answer, size_t max_text_bytes) {
    *answer = (gg_answer){.stop = GG_LLM_STOP_END};
    gg_buf_init(&answer->text, max_text_bytes);
}

void gg_answer_clear(gg_answer *answer) {
    gg_buf_clear(&answer->text);
}

void gg_answer_reset(gg_answer *answer) {
    gg_buf text = answer->text;
    gg_buf_reset(&text);
    *answer = (gg_answer){.text = text, .stop = GG_LLM_STOP_END};
}

gg_str gg_answer_text(const gg_answer *answer) {
    gg_str text = gg_buf_str(&answer->text), open = GG_STR("<think>"), close = GG_STR("</think>");
    if (!gg_str_starts_with(gg_str_trim(text), open)) return text;
    size_t end = gg_str_find(text, close, 0);
    if (end == SIZE_MAX) return GG_STR_NULL; /* it never came to an answer */
    text = gg_str_slice(text, end + close.len, text.len);
    while (text.len && (text.ptr[0] == '\n' || text.ptr[0] == '\r' || text.ptr[0] == ' '))
        text = gg_str_slice(text, 1, text.len);
    return text;
}

int gg__answer_add(gg_answer *answer, const json_t *text, gg_error *err) {
    gg_str said = {json_string_value(text), json_string_length(text)};
    if (said.len == 0 || gg_buf_append(&answer->text, said) == 0) return 0;
    return gg_fail(err, GG_ETOOBIG, "the answer is over %zu bytes", answer->text.max);
}

/* ---- errors ------------------------------------------------------------------------------------------------------------------ */

/* {"error": {"message": …}}, {"error": "…"}, {"message": …}, {"detail": …}, or a list of such. */
static const char *words_in(const json_t *body) {
    static const char *const names[] = {"message", "detail", "error"};
    if (json_is_array(body)) body = json_array_get(body, 0);
    const json_t *error = json_object_get(body, "error");
    if (json_is_object(error)) body = error;
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (json_is_string(json_object_get(body, names[i]))) return json_string_value(json_object_get(body, names[i]));
    return NULL;
}

void gg_api_error_words(char *out, size_t size, gg_str body) {
    json_t *json = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_DECODE_ANY, NULL);
    const char *words = words_in(json);
    size_t n = 0;
    for (; words && *words && n + 1 < size; words++) {
        bool blank = (unsigned char)*words <= ' ' || *words == 0x7f;
        if (!blank) out[n++] = *words;
        if (blank && n && out[n - 1] != ' ') out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ') n--;
    out[n] = '\0';
    out[gg_utf8_valid_prefix(gg_str_from(out))] = '\0';
    json_decref(json);
}

unsigned gg_api_refused(const char *words) {
    static const struct {
        const char *name;
        unsigned bit;
    } members[] = {{"stream_options", GG_API_STREAM_OPTIONS},
                   {"response_format", GG_API_SCHEMA},
                   {"tool_choice", GG_API_SCHEMA},
                   {"max_tokens", GG_API_MAX_TOKENS},
                   {"top_p", GG_API_TOP_P},
                   {"temperature", GG_API_TEMPERATURE}};
    for (size_t i = 0; i < GG_COUNT(members); i++)
        if (strstr(words, members[i].name)) return members[i].bit;
    return 0;
}
