/* What an HTTP API wants to be asked and how it answers: one row each.  Private to server/.  No I/O; any thread, one at a time. */
#ifndef GG_API_H
#define GG_API_H

#include <jansson.h>

#include "repair/llm/gg_llm.h"
#include "server/llm/sse.h"

/* What an endpoint may refuse to be told, and can be asked without (a 400 says which). */
enum {
    GG_API_MAX_TOKENS = 1, /* by its old name; instead the new one goes */
    GG_API_TEMPERATURE = 2,
    GG_API_TOP_P = 4,
    GG_API_STREAM_OPTIONS = 8,
    GG_API_SCHEMA = 16
};

/* An answer as it comes. */
typedef struct gg_answer {
    gg_buf text;    /* thinking left out */
    size_t thought; /* bytes of it that came apart from the text, for showing progress */
    uint64_t input_tokens, output_tokens;
    gg_llm_stop stop;
    bool stopped;  /* it said why it ended: the text is whole */
    bool over;     /* nothing more is to come */
    bool can_wait; /* of an error: the same may succeed later */
} gg_answer;

void gg_answer_init(gg_answer *answer, size_t max_text_bytes);
void gg_answer_clear(gg_answer *answer);
void gg_answer_reset(gg_answer *answer);
/* The text without a <think>…</think> that it begins with: how servers that cannot keep thinking apart give it. */
gg_str gg_answer_text(const gg_answer *answer);
int gg__answer_add(gg_answer *answer, const json_t *text, gg_error *err); /* a string; else nothing */

typedef struct gg_api {
    const char *name;               /* as settings say it */
    const char *path;               /* behind the base URL */
    const char *default_url;        /* the maker's own */
    const char *own_host, *own_key; /* there, and only there, the key of this variable is sent unasked */
    const char *key_header;         /* a format of the key */
    const char *header;             /* always sent; NULL: none */
    /* A new reference; without: bits of what it must not hold. */
    json_t *(*body)(const gg_llm_request *request, const char *model, unsigned without);
    /* One event of the stream, or all of an answer that came as none: GG_EFAILED with the endpoint's words, GG_EPARSE, GG_ETOOBIG. */
    int (*event)(gg_answer *answer, const gg_sse_event *event, gg_error *err);
} gg_api;

extern const gg_api gg_api_openai, gg_api_anthropic;
const gg_api *gg_api_find(const char *name); /* NULL: there is none */

/* The endpoint's own words in an error's body (both APIs, and what others made of them), in one line of at most `size` bytes; "" when there are none. */
void gg_api_error_words(char *out, size_t size, gg_str body);
/* Which member that we sent a 400 with these words is about; 0: none of those that can be left out. */
unsigned gg_api_refused(const char *words);

#endif
