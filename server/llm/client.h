/* One exchange with a model: what is asked, what it answers, and what is done when it cannot.  Private to server/.  Loop thread only.
 *
 * DESIGN  The key is read, the request posted, the events of the answer read as they come.  What may pass (429, 5xx, connections that are refused or break) is
 * tried again, at most TRIES times: after what Retry-After asks for, else after a time that doubles, with jitter; all within one deadline. */
#ifndef GG_CLIENT_H
#define GG_CLIENT_H

#include "server/llm/endpoint.h"
#include "server/llm/http.h"

typedef enum gg_model_failure {
#define FAILURE(ordinal, id, code) GG_MODEL_##ordinal,
#include "server/llm/failures.def"
#undef FAILURE
} gg_model_failure;
const char *gg_model_failure_id(gg_model_failure failure); /* static */
int gg_model_failure_code(gg_model_failure failure);       /* 0 or a GG_E… */

typedef struct gg_exchange gg_exchange;

typedef struct gg_exchange_end {
    gg_model_failure failure;
    gg_error error;     /* code 0: there is a reply */
    gg_llm_reply reply; /* its text is borrowed */
    unsigned tries;     /* requests that were sent */
    uint64_t took_ms;
    double cost; /* negative: not known */
} gg_exchange_end;

typedef struct gg_exchange_options {
    void *data;
    void (*on_progress)(void *data, uint64_t tokens); /* so far, about, with those of thinking; NULL: nobody asks */
    void (*on_done)(void *data, const gg_exchange_end *end); /* once, last, from a later turn */
    uint32_t first_wait_ms;                                  /* between the first two tries; 0: half a second */
} gg_exchange_options;

/* The endpoint and the request are borrowed until on_done. */
gg_exchange *gg_exchange_start(gg_http *http, uv_loop_t *loop, const gg_endpoint *endpoint,
                               const gg_llm_request *request, const gg_exchange_options *options);
void gg_exchange_cancel(gg_exchange *exchange); /* its on_done follows at once, that is from the next turn */

/* ---- client_words.c: how an attempt ended, judged and put in words ------------------------------------------------------------------ */
typedef struct gg__attempt {
    const gg_endpoint *endpoint;
    const gg_http_end *http;
    const gg_answer *answer;
    const gg_error *stream; /* what was wrong with the stream; code 0: nothing */
    gg_str body;            /* of an answer that is an error */
    bool events;            /* there was one */
} gg__attempt;
/* GG_MODEL_NONE: the answer is whole.  *passing: another try may do better. */
gg_model_failure gg__attempt_judge(const gg__attempt *attempt, bool *passing, char *words, size_t size);
/* All that goes out must be valid UTF-8. */
int gg__request_check(const gg_llm_request *request, gg_error *err);

#endif
