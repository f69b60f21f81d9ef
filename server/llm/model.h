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
/* Which model would be asked, in words for the user ("qwen at http://…"); the caller frees.  NULL with err as above. */
char *gg_model_name(const gg_session *session, const gg_options *settings, gg_error *err);

#endif
