/* The handlers, one file per method.  A handler of a request owns the call: it answers it, now or later; call is NULL for notifications. */
#ifndef GG_ON_H
#define GG_ON_H

#include "server/session.h"

#define GG_HANDLER(name) void name(gg_session *session, gg_call *call, const void *params)

GG_HANDLER(gg_on_cancel_request);
GG_HANDLER(gg_on_set_trace);
GG_HANDLER(gg_on_code_action_resolve);
GG_HANDLER(gg_on_exit);
GG_HANDLER(gg_on_model);
GG_HANDLER(gg_on_status);
GG_HANDLER(gg_on_sync);
GG_HANDLER(gg_on_text);
GG_HANDLER(gg_on_initialize);
GG_HANDLER(gg_on_initialized);
GG_HANDLER(gg_on_shutdown);
GG_HANDLER(gg_on_code_action);
GG_HANDLER(gg_on_code_lens);
GG_HANDLER(gg_on_diagnostic);
GG_HANDLER(gg_on_did_change);
GG_HANDLER(gg_on_did_close);
GG_HANDLER(gg_on_did_open);
GG_HANDLER(gg_on_did_save);
GG_HANDLER(gg_on_hover);
GG_HANDLER(gg_on_progress_cancel);
GG_HANDLER(gg_on_workspace_diagnostic);
GG_HANDLER(gg_on_did_change_configuration);
GG_HANDLER(gg_on_did_change_watched_files);
GG_HANDLER(gg_on_did_change_workspace_folders);
GG_HANDLER(gg_on_execute_command);
GG_HANDLER(gg_on_inlay_hint);

json_t *gg_command_names(void);              /* of workspace/executeCommand */
json_t *gg_status_json(gg_session *session); /* trust, workers, counters of the methods and the loop */

#endif
