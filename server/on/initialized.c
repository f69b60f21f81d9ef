/* initialized: asks for the settings and to be told of their changes; warms the worker of a trusted workspace.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_initialized) {
    (void)call, (void)params;
    if (GG_HAS(session, WATCH_SETTINGS))
        gg_request_take(session, "client/registerCapability",
                        json_pack("{s:[{s:s, s:s, s:{s:s}}]}", "registrations", "id", "graphglue-settings", "method",
                                  "workspace/didChangeConfiguration", "registerOptions", "section", "graphglue"),
                        NULL, NULL);
    if (GG_HAS(session, CONFIGURATION))
        gg_session_ask_settings(session);
    else
        gg_session_warm(session);
}
