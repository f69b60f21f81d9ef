/* workspace/didChangeConfiguration: settings that came along, else they are asked for.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_change_configuration) {
    (void)call;
    const gg_lsp_did_change_configuration_params *p = params;
    const json_t *ours = json_object_get(p->settings, "graphglue");
    if (json_is_object(ours))
        gg_session_settings(session, ours);
    else
        gg_session_ask_settings(session);
}
