/* $/setTrace: the log is chosen by --log-level; accepted, as the protocol wants.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_set_trace) {
    (void)session, (void)call, (void)params;
}
