/* textDocument/didOpen: a trusted file is captured once when it is opened, after what runs.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_did_open) {
    (void)call;
    const gg_lsp_text_document_item *item = &((const gg_lsp_did_open_text_document_params *)params)->text_document;
    gg_document *document = gg_document_open(session, item->uri, item->language_id, item->version, item->text);
    gg_folders_update(session);
    if (gg_options_of(document)->run != GG_RUN_MANUAL) gg_capture_queue(document);
}
