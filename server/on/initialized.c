/* initialized: asks for the settings and to be told of their changes; warms the worker of a trusted workspace.  Loop thread only. */
#include "server/on/on.h"

static json_t *registration(const char *method, json_t *options_take) {
    return json_pack("{s:s, s:s, s:o}", "id", method, "method", method, "registerOptions", options_take);
}

GG_HANDLER(gg_on_initialized) {
    (void)call, (void)params;
    json_t *wanted = json_array();
    if (GG_HAS(session, WATCH_SETTINGS))
        json_array_append_new(
            wanted, registration("workspace/didChangeConfiguration", json_pack("{s:s}", "section", "graphglue")));
    if (GG_HAS(session, WATCH_FILES))
        json_array_append_new(wanted, registration("workspace/didChangeWatchedFiles",
                                                   json_pack("{s:[{s:s}, {s:s}]}", "watchers", "globPattern",
                                                             "**/pyproject.toml", "globPattern", "**/*.py")));
    if (json_array_size(wanted))
        gg_request_take(session, "client/registerCapability", json_pack("{s:O}", "registrations", wanted), NULL, NULL);
    json_decref(wanted);
    session->warm = true;
    gg_folders_update(session);
    gg_session_ask_settings(session);
}
