/* initialize: capabilities, encoding, folders, trust.  Nothing else is done before it is answered.  Loop thread only. */
#include <signal.h>

#include "server/on/on.h"

GG_HANDLER(gg_on_initialize) {
    const gg_lsp_initialize_params *p = params;
    gg_session_read_caps(session, p->capabilities);
    session->state = GG_STATE_INITIALIZED;
    pid_t client = p->process_id.set ? (pid_t)p->process_id.v : 0;
    if (session->client_pid == 0 && client > 0 && kill(client, 0) == 0)
        session->client_pid = client; /* else it runs on another machine, or in a container of its own */
    gg_session_settings(session, p->initialization_options);
    session->settings.trusted = json_is_true(json_object_get(p->initialization_options, "trusted"));
    const char *help = json_string_value(json_object_get(p->initialization_options, "trustHelp"));
    gg_free(session->settings.trust_help);
    session->settings.trust_help = gg_str_dup(
        gg_str_from(help && *help ? help : "start the server with the initialization option \"trusted\": true"));
    for (uint32_t i = 0; i < p->workspace_folders.len; i++) {
        char *path = gg_uri_to_path(p->workspace_folders.items[i].uri);
        if (path) gg_workspace_change(session, path, true);
        gg_free(path);
    }
    char *root = p->workspace_folders.len == 0 && p->root_uri.ptr ? gg_uri_to_path(p->root_uri) : NULL;
    if (root) gg_workspace_change(session, root, true);
    gg_free(root);
    gg_call_reply_take(call, json_pack("{s:o, s:{s:s, s:s}}", "capabilities", gg_methods_capabilities(session),
                                       "serverInfo", "name", "graphglue-lsp", "version", GG_VERSION));
}
