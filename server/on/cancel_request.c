/* $/cancelRequest: answers the request at once; what its work brings later finds no call.  Loop thread only. */
#include "server/on/on.h"

static bool same_id(const json_t *id, gg_token token) {
    if (token.is_string) return json_is_string(id) && gg_str_is(token.string, json_string_value(id));
    return json_is_integer(id) && json_integer_value(id) == token.number;
}

GG_HANDLER(gg_on_cancel_request) {
    (void)call;
    const gg_lsp_cancel_params *p = params;
    for (size_t i = 0; i < session->calls.len; i++) {
        gg_call *pending = session->calls.items[i];
        if (!same_id(pending->message.id, p->id)) continue;
        for (size_t j = 0; j < session->syncs.len; j++)
            if (session->syncs.items[j] == pending) {
                gg_list_remove(&session->syncs, j);
                break;
            }
        if (pending->on_cancel) pending->on_cancel(pending);
        gg_call_fail(pending, GG_ECANCELED, "canceled");
        return;
    }
}
