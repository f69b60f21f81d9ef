/* textDocument/inlayHint: behind the line of each entry's class or function what its last capture found, for clients that show no code lenses.
 * Loop thread only; it says what is known, and runs nothing. */
#include "server/on/on.h"

static gg_position end_of_line(const gg_document *document, gg_span span) {
    uint32_t line = gg_text_position(document->text, span.start, GG_UTF8).line;
    uint32_t end = gg_text_line_start(document->text, line) + (uint32_t)gg_text_line(document->text, line).len;
    return gg_text_position(document->text, end, document->session->encoding);
}

GG_HANDLER(gg_on_inlay_hint) {
    const gg_lsp_inlay_hint_params *p = params;
    const gg_document *document = gg_document_find(session, p->text_document.uri);
    gg_entry_states states = gg_entry_states_of(document, call->arena);
    json_t *hints = json_array();
    for (size_t i = 0; i < states.len; i++) {
        gg_position at = end_of_line(document, states.items[i].span);
        if (at.line < p->range.start.line || at.line > p->range.end.line) continue;
        gg_str said = states.items[i].said;
        json_array_append_new(hints,
                              json_pack("{s:{s:i, s:i}, s:s%, s:b}", "position", "line", (int)at.line, "character",
                                        (int)at.character, "label", said.ptr, said.len, "paddingLeft", 1));
    }
    gg_list_clear(&states);
    gg_call_reply_take(call, hints);
}
