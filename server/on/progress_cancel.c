/* window/workDoneProgress/cancel.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_progress_cancel) {
    (void)call;
    gg_progress_cancel(session, ((const gg_lsp_work_done_progress_cancel_params *)params)->token);
}
