/* What the text alone tells of all files of the workspace, for workspace/diagnostic.  Part of session.h.  Loop thread only. */
#ifndef GG_WORKSPACE_SCAN_H
#define GG_WORKSPACE_SCAN_H

#include "server/session.h"

/* Answers the call, now or later: files that are open from their documents, the others from disk, a file at a time off the loop.  `previous`:
 * result ids that the client has, by URI (taken); `token`: where partial results go, NULL: nowhere (taken).  A client that has all there is waits
 * until something changes, if it says when files do. */
void gg_workspace_scan_start(gg_session *session, gg_call *call, json_t *previous_take, json_t *token_take);
void gg_workspace_scan_changed(gg_session *session); /* files or settings are others now: who waits is answered */
void gg_workspace_scan_free(gg_session *session);    /* what was kept of files */

#endif
