/* links: gg_server */
/* An endpoint's stream, read in pieces whose sizes the input chooses: the same events whatever the pieces, every one valid UTF-8 and no larger
 * than its ceiling; and whatever they say, both APIs bear it. */
#include "server/llm/api.h"

#include "check.h"

enum { MAX_EVENT = 4096, MAX_TEXT = 16384 };

typedef struct reader {
    gg_sse sse;
    gg_answer answers[2];
    gg_buf said; /* all events, one behind another */
} reader;

static int on_event(void *data, const gg_sse_event *event, gg_error *err) {
    static const gg_api *const apis[] = {&gg_api_openai, &gg_api_anthropic};
    reader *r = data;
    (void)err;
    CHECK(event->data.len <= MAX_EVENT && gg_utf8_valid_prefix(event->data) == event->data.len);
    CHECK(gg_buf_printf(&r->said, "%.*s=%.*s;", GG_STR_ARG(event->name), GG_STR_ARG(event->data)) == 0);
    for (size_t i = 0; i < GG_COUNT(apis); i++) {
        gg_error why = {0};
        int error = apis[i]->event(&r->answers[i], event, &why);
        CHECK((error != 0) == (why.message[0] != '\0'));
        CHECK(r->answers[i].text.len <= MAX_TEXT);
        gg_str text = gg_answer_text(&r->answers[i]);
        CHECK(gg_utf8_valid_prefix(text) == text.len);
    }
    return 0;
}

static int read_all(reader *r, gg_str stream, size_t step) {
    int error = 0;
    gg_sse_init(&r->sse, MAX_EVENT);
    gg_buf_init(&r->said, SIZE_MAX / 2);
    for (size_t i = 0; i < GG_COUNT(r->answers); i++) gg_answer_init(&r->answers[i], MAX_TEXT);
    for (size_t at = 0; at < stream.len && error == 0; at += step)
        error = gg_sse_push(&r->sse, gg_str_slice(stream, at, at + step), on_event, r, NULL);
    return error;
}

static void clear(reader *r) {
    gg_sse_clear(&r->sse);
    gg_buf_clear(&r->said);
    for (size_t i = 0; i < GG_COUNT(r->answers); i++) gg_answer_clear(&r->answers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    reader whole, pieces;
    if (size == 0) return 0;
    gg_str stream = {(const char *)data + 1, size - 1};
    int a = read_all(&whole, stream, stream.len + 1), b = read_all(&pieces, stream, data[0] % 17u + 1);
    CHECK(a == b && gg_str_equal(gg_buf_str(&whole.said), gg_buf_str(&pieces.said)));
    char words[100];
    gg_api_error_words(words, sizeof(words), stream);
    CHECK(gg_utf8_valid_prefix(gg_str_from(words)) == strlen(words));
    clear(&whole);
    clear(&pieces);
    return 0;
}
