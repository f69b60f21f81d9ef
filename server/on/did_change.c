/* textDocument/didChange: applies every change; nothing is analysed here, and one publish follows when all that has arrived is applied.
 * Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_change) {
    (void)call;
    const gg_lsp_did_change_text_document_params *p = params;
    gg_document *document = gg_document_find(session, p->text_document.uri);
    if (document == NULL) {
        gg_log(GG_LOG_WARNING, "didChange of a document that is not open: %.*s", GG_STR_ARG(p->text_document.uri));
        return;
    }
    gg_error err = {0};
    for (uint32_t i = 0; i < p->content_changes.len; i++) {
        if (gg_document_change(document, p->content_changes.items[i].range, p->content_changes.items[i].text, &err) ==
            0)
            continue;
        gg_show_message(session, 2, "graphglue: %s: %s", document->uri, err.message);
        break;
    }
    document->version = p->text_document.version;
    gg_document_dirty(document);
    if (session->settings.run == GG_RUN_ON_TYPE) gg_capture_start(document);
}
