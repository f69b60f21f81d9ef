/* workspace/diagnostic: of all files of the workspace what is known, or what their text tells.  Loop thread only; files are read in jobs. */
#include "server/on/on.h"
#include "server/workspace_scan.h"

GG_HANDLER(gg_on_workspace_diagnostic) {
    const gg_lsp_workspace_diagnostic_params *p = params;
    json_t *previous = json_object(), *token = NULL;
    for (uint32_t i = 0; i < p->previous_result_ids.len; i++) {
        gg_str uri = p->previous_result_ids.items[i].uri, id = p->previous_result_ids.items[i].value;
        json_object_setn_new(previous, uri.ptr, uri.len, json_stringn(id.ptr, id.len));
    }
    const gg_token *t = &p->partial_result_token.v;
    if (p->partial_result_token.set)
        token = t->is_string ? json_stringn(t->string.ptr, t->string.len) : json_integer(t->number);
    gg_workspace_scan_start(session, call, previous, token);
}
