/* workspace/didChangeWorkspaceFolders.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_change_workspace_folders) {
    (void)call;
    const gg_lsp_did_change_workspace_folders_params *p = params;
    for (uint32_t i = 0; i < p->event.removed.len + p->event.added.len; i++) {
        bool added = i >= p->event.removed.len;
        gg_str uri = added ? p->event.added.items[i - p->event.removed.len].uri : p->event.removed.items[i].uri;
        char *path = gg_uri_to_path(uri);
        if (path) gg_workspace_change(session, path, added);
        gg_free(path);
    }
    gg_folders_rebuild(session); /* patterns of settings are of paths below a folder */
    gg_folders_update(session);
}
