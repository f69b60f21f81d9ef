/* textDocument/hover: the explanation of the break at the position.  Loop thread only; formatting takes microseconds. */
#include "server/on/on.h"

GG_HANDLER(gg_on_hover) {
    const gg_lsp_hover_params *p = params;
    const gg_document *document = gg_document_find(session, p->text_document.uri);
    const gg_findings *f = document ? document->findings : NULL;
    gg_lsp_range point = {p->position, p->position};
    uint32_t offset = document ? gg_span_of(session, document->text, &point).start : 0;
    for (size_t i = 0; f && session->settings.trusted && i < f->sites.len; i++) {
        gg_span span = document->marks[i].span;
        if (document->marks[i].gone || offset < span.start || offset > span.end) continue;
        bool markdown = GG_HAS(session, MARKDOWN);
        gg_str said = gg_explain_site(&f->sites.items[i], f->local[i] ? f->tree : NULL,
                                      gg_registry_source_get(f->registry), markdown, call->arena);
        gg_call_reply_take(call, json_pack("{s:{s:s, s:s%}, s:o}", "contents", "kind",
                                           markdown ? "markdown" : "plaintext", "value", said.ptr, said.len, "range",
                                           gg_range_json(session, document->text, span)));
        return;
    }
    gg_call_reply_take(call, json_null());
}
