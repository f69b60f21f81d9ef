/* The language model that a session has: the endpoint of its settings, else the one that the editor offers.  Private to server/.  Loop thread only. */
#ifndef GG_MODEL_H
#define GG_MODEL_H

#include "server/llm/client.h"
#include "server/session.h"

typedef struct gg_asking gg_asking;

/* `settings` of the folder that is asked for.  The request's struct and its texts are needed until on_done: the struct is copied, the texts are not.
 * NULL with err, and no callback, when there is no model (GG_ENOTFOUND) or its settings are wrong. */
gg_asking *gg_model_ask(gg_session *session, const gg_options *settings, const gg_llm_request *request,
                        const gg_exchange_options *options, gg_error *err);
void gg_model_cancel(gg_asking *asking);       /* its on_done follows, from the next turn */
void gg_model_cancel_all(gg_session *session); /* on the way out */

typedef struct gg_model_who {         /* which model would be asked */
    char *name;                       /* in words for the user: "qwen at http://…" */
    char *model;                      /* its own name; of the editor's, as above */
    double input_price, output_price; /* of a million tokens; negative: not known */
} gg_model_who;
int gg_model_who_read(gg_model_who *out, const gg_session *session, const gg_options *settings,
                      gg_error *err) GG_MUST_USE; /* as above */
void gg_model_who_clear(gg_model_who *who);

typedef struct gg_heard { /* how an exchange ended, kept */
    bool answered;
    gg_llm_reply reply; /* its text is `text` */
    char *text;
    char *failure; /* NULL where it was answered */
} gg_heard;
void gg_heard_take(gg_heard *out, const gg_exchange_end *end); /* what it had is freed */
void gg_heard_clear(gg_heard *heard);

#endif
