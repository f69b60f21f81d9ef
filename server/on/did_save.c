/* textDocument/didSave: captures the file (setting capture.run).  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_save) {
    (void)call;
    gg_document *document =
        gg_document_find(session, ((const gg_lsp_did_save_text_document_params *)params)->text_document.uri);
    gg_folders_update(session); /* for clients that watch no files */
    if (document && gg_options_of(document)->run != GG_RUN_MANUAL) gg_capture_start(document);
}
