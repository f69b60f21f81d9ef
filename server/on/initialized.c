/* initialized: asks for the settings and to be told of their changes; warms the worker of a trusted workspace.  Loop thread only. */
#include "server/on/on.h"

void gg__ask_settings(gg_session *session);

static void on_settings(void *data, const json_t *result, const json_t *error) {
    gg_session *session = data;
    if (error == NULL && session->state == GG_STATE_INITIALIZED)
        gg_session_settings(session, json_array_get(result, 0));
}

void gg__ask_settings(gg_session *session) {
    if (GG_HAS(session, CONFIGURATION))
        gg_request_take(session, "workspace/configuration", json_pack("{s:[{s:s}]}", "items", "section", "graphglue"),
                        on_settings, session);
}

GG_HANDLER(gg_on_initialized) {
    (void)call, (void)params;
    if (GG_HAS(session, WATCH_SETTINGS))
        gg_request_take(session, "client/registerCapability",
                        json_pack("{s:[{s:s, s:s, s:{s:s}}]}", "registrations", "id", "graphglue-settings", "method",
                                  "workspace/didChangeConfiguration", "registerOptions", "section", "graphglue"),
                        NULL, NULL);
    gg__ask_settings(session);
    if (!session->settings.trusted || session->settings.run == GG_RUN_MANUAL) return;
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_worker *worker = gg_workspace_worker(session->workspaces.items[i]);
        if (worker) gg_worker_start(worker);
    }
}
