/* workspace/didChangeWatchedFiles: a pyproject.toml, which may say other settings now, what a scan of the workspace reads, and what open files import.
 * Loop thread only. */
#include "server/on/on.h"
#include "server/workspace_scan.h"

GG_HANDLER(gg_on_did_change_watched_files) {
    (void)call;
    const gg_lsp_did_change_watched_files_params *p = params;
    json_t *changed = json_object();
    for (uint32_t i = 0; i < p->changes.len; i++) {
        char *path = gg_uri_to_path(p->changes.items[i].uri);
        if (path && !gg_path_is_open(session, path)) json_object_set_new(changed, path, json_true());
        gg_free(path);
    }
    gg_captures_outdated(session, changed);
    json_decref(changed);
    gg_folders_update(session);
    gg_workspace_scan_changed(session);
}
