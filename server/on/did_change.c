/* textDocument/didChange: applies every change; nothing is analysed here, and one publish follows when all that has arrived is applied.
 * Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_change) {
    (void)call;
    const gg_lsp_did_change_text_document_params *p = params;
    gg_document *document = gg_document_peek(session, p->text_document.uri);
    if (document == NULL) {
        gg_log(GG_LOG_INFO, "didChange of a document that is not open: %.*s", GG_STR_ARG(p->text_document.uri));
        return;
    }
    gg_document_edit(document, p->content_changes.items, p->content_changes.len, p->text_document.version);
    if (gg_options_of(document)->run == GG_RUN_ON_TYPE) gg_capture_start(document);
}
