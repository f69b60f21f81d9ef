/* workspace/didChangeWatchedFiles: a pyproject.toml, which may say other settings now, or what a scan of the workspace reads.  Loop thread only. */
#include "server/on/on.h"
#include "server/workspace_scan.h"

GG_HANDLER(gg_on_did_change_watched_files) {
    (void)call;
    (void)params;
    gg_folders_update(session);
    gg_workspace_scan_changed(session);
}
