/* workspace/didChangeConfiguration: settings that came along, else they are asked for.  Loop thread only. */
#include "server/on/on.h"

void gg__ask_settings(gg_session *session);

GG_HANDLER(gg_on_did_change_configuration) {
    (void)call;
    const gg_lsp_did_change_configuration_params *p = params;
    const json_t *ours = json_object_get(p->settings, "graphglue");
    if (json_is_object(ours))
        gg_session_settings(session, ours);
    else
        gg__ask_settings(session);
}
