/* shutdown: cancels what runs; afterwards only exit is taken, and nothing is said.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_shutdown) {
    (void)params;
    for (size_t i = session->calls.len; i-- > 0;) {
        gg_call *pending = session->calls.items[i];
        if (pending == call) continue;
        if (pending->on_cancel) pending->on_cancel(pending);
        gg_call_fail(pending, GG_ECANCELED, "the server was shut down");
    }
    session->syncs.len = 0;
    for (size_t i = 0; i < session->documents.len; i++) gg_capture_cancel(session->documents.items[i]);
    gg_progress_close_all(session);
    session->state = GG_STATE_SHUTDOWN;
    gg_call_reply_take(call, json_null());
}
