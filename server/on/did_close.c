/* textDocument/didClose: its diagnostics go with it.  Loop thread only. */
#include "server/on/on.h"
#include "server/workspace_scan.h"

GG_HANDLER(gg_on_did_close) {
    (void)call;
    gg_document *document =
        gg_document_find(session, ((const gg_lsp_did_close_text_document_params *)params)->text_document.uri);
    if (document == NULL) return;
    if (!session->pulls)
        gg_notify_take(session, "textDocument/publishDiagnostics",
                       json_pack("{s:s, s:[]}", "uri", document->uri, "diagnostics"));
    gg_document_close(document);
    gg_workspace_scan_changed(session);
}
