/* textDocument/diagnostic: what is known of the text as it is, which for a moment is waited for; "unchanged" when that is what the client has.
 * Loop thread only. */
#include <stdio.h>

#include "server/on/on.h"

enum { AWAITED_MS = 2000 };

typedef struct pull {
    const gg_lsp_document_diagnostic_params *params;
    uint64_t until_ms;
} pull;

static void answer(gg_call *call, const gg_lsp_document_diagnostic_params *p) {
    gg_document *document = gg_document_find(call->session, p->text_document.uri);
    if (document) document->pulled_revision = document->revision;
    char id[32];
    snprintf(id, sizeof(id), "%llu", document ? (unsigned long long)document->generation : 0ull);
    if (document && p->previous_result_id.ptr && gg_str_is(p->previous_result_id, id)) {
        gg_call_reply_take(call, json_pack("{s:s, s:s}", "kind", "unchanged", "resultId", id));
        return;
    }
    gg_call_reply_with_take(call, json_pack("{s:s, s:s, s:[]}", "kind", "full", "resultId", id, "items"),
                            document ? gg_diagnostics_write(document) : NULL);
}

static void forget(gg_call *call) {
    gg_session *session = call->session;
    for (size_t i = 0; i < session->pulled.len; i++) {
        if (session->pulled.items[i] != call) continue;
        gg_list_remove(&session->pulled, i);
        return;
    }
}

static const gg_document *document_of(const gg_call *call) {
    const pull *p = call->work;
    return gg_document_peek(call->session, p->params->text_document.uri);
}

uint64_t gg_pulls_answer(gg_session *session) {
    uint64_t now = uv_now(&session->loop), wait = UINT64_MAX;
    for (size_t i = 0; i < session->pulled.len;) {
        gg_call *call = session->pulled.items[i];
        const pull *p = call->work;
        const gg_document *document = document_of(call);
        if (document && gg_prediction_is_due(document) && now < p->until_ms) {
            if (p->until_ms - now < wait) wait = p->until_ms - now;
            i++;
            continue;
        }
        gg_list_remove(&session->pulled, i);
        answer(call, p->params);
    }
    return wait;
}

GG_HANDLER(gg_on_diagnostic) {
    const gg_document *document =
        gg_document_peek(session, ((const gg_lsp_document_diagnostic_params *)params)->text_document.uri);
    if (document == NULL || !gg_prediction_is_due(document)) {
        answer(call, params);
        return;
    }
    pull *p = GG_ARENA_NEW(call->arena, pull);
    *p = (pull){.params = params, .until_ms = uv_now(&session->loop) + AWAITED_MS};
    call->work = p;
    call->on_cancel = forget;
    gg_list_push(&session->pulled, call);
    if (!uv_is_active((uv_handle_t *)&session->flush))
        uv_timer_start(&session->flush, session->flush.timer_cb, AWAITED_MS, 0);
}
