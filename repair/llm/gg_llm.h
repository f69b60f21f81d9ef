/* repair/llm/ — the repair agent: what is asked of a language model, what its answers are worth, and when it is asked again.
 * Nothing here opens a connection, a file or a process: server/llm/ carries the requests, the worker judges the candidates. */
#ifndef GG_LLM_H
#define GG_LLM_H

#include "base/gg_base.h"

/* ---- what goes to a model and comes back, whichever API carries it ---------------------------------------------------------- */
typedef enum gg_llm_role { GG_LLM_USER, GG_LLM_ASSISTANT } gg_llm_role;

typedef struct gg_llm_message {
    gg_llm_role role;
    gg_str content; /* UTF-8 */
} gg_llm_message;

typedef struct gg_llm_request { /* texts are the owner's, and outlive the exchange */
    gg_str system;              /* empty: none */
    const gg_llm_message *messages;
    size_t message_count;
    gg_str schema;       /* JSON schema the answer has to follow, for endpoints that can be told; empty: tagged text */
    uint32_t max_tokens; /* of the answer */
    double temperature, top_p;
} gg_llm_request;

#define GG_LLM_MAX_TOKENS  8192
#define GG_LLM_TEMPERATURE 0.7
#define GG_LLM_TOP_P       0.8

typedef enum gg_llm_stop {
    GG_LLM_STOP_END,    /* the model had said all it wanted to */
    GG_LLM_STOP_LENGTH, /* max_tokens: the text is cut off */
    GG_LLM_STOP_REFUSED /* the endpoint or the model would not answer */
} gg_llm_stop;

typedef struct gg_llm_reply {
    gg_str text;                          /* what is to be read of the answer: thinking left out */
    uint64_t input_tokens, output_tokens; /* as the endpoint counted; 0: it did not say */
    gg_llm_stop stop;
} gg_llm_reply;

#endif
