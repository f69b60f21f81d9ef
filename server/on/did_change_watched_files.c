/* workspace/didChangeWatchedFiles: a pyproject.toml, which may say other settings now.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_change_watched_files) {
    (void)call, (void)params;
    gg_folders_update(session);
}
