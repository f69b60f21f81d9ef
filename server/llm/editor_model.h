/* A model that the editor lends (capability experimental.graphglue.model): the request `graphglue/model` carries what is asked, its answer the text
 * (docs/model.md).  So a user whose editor has an assistant needs no key.  Private to server/.  Loop thread only. */
#ifndef GG_EDITOR_MODEL_H
#define GG_EDITOR_MODEL_H

#include "server/llm/client.h"
#include "server/session.h"

typedef struct gg_editor_exchange gg_editor_exchange;

/* As gg_exchange_start: on_done comes once, from a later turn.  There is no progress, and no cost. */
gg_editor_exchange *gg_editor_model_ask(gg_session *session, const gg_llm_request *request,
                                        const gg_exchange_options *options);
void gg_editor_model_cancel(gg_editor_exchange *exchange); /* its on_done follows, from the next turn */

#endif
