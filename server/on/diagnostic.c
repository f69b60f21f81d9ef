/* textDocument/diagnostic: what is known now; "unchanged" when that is what the client has.  Loop thread only. */
#include <stdio.h>

#include "server/on/on.h"

GG_HANDLER(gg_on_diagnostic) {
    const gg_lsp_document_diagnostic_params *p = params;
    const gg_document *document = gg_document_find(session, p->text_document.uri);
    char id[32];
    snprintf(id, sizeof(id), "%llu", document ? (unsigned long long)document->generation : 0ull);
    if (document && p->previous_result_id.ptr && gg_str_is(p->previous_result_id, id)) {
        gg_call_reply_take(call, json_pack("{s:s, s:s}", "kind", "unchanged", "resultId", id));
        return;
    }
    gg_call_reply_take(call, json_pack("{s:s, s:s, s:o}", "kind", "full", "resultId", id, "items",
                                       document ? gg_diagnostics_json(document) : json_array()));
}
