/* exit: 0 after shutdown, else 1.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_exit) {
    (void)call, (void)params;
    gg_session_exit(session, session->state == GG_STATE_SHUTDOWN ? 0 : 1);
}
