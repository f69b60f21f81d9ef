/* textDocument/codeLens: above each entry's class or function what its last capture found, as the offer to mend it where it breaks, and, where nobody wrote its inputs, the offer to.
 * Loop thread only; it says what is known, and runs nothing. */
#include "server/on/on.h"

static void add(json_t *lenses, const gg_document *document, gg_span span, gg_str title, const char *command) {
    json_array_append_new(lenses, json_pack("{s:o, s:{s:s%, s:s, s:[s]}}", "range",
                                            gg_range_json(document->session, document->text, span), "command", "title",
                                            title.ptr, title.len, "command", command, "arguments", document->uri));
}

GG_HANDLER(gg_on_code_lens) {
    const gg_lsp_code_lens_params *p = params;
    const gg_document *document = gg_document_find(session, p->text_document.uri);
    gg_entry_states states = gg_entry_states_of(document, call->arena);
    json_t *lenses = json_array();
    for (size_t i = 0; i < states.len; i++) {
        const gg_entry_state *state = &states.items[i];
        if (state->broken)
            add(lenses, document, state->span,
                gg_arena_printf(call->arena, "%.*s%u graph%s · %u break%s%.*s · Glue all", GG_STR_ARG(state->name),
                                state->graphs, state->graphs == 1 ? "" : "s", state->breaks,
                                state->breaks == 1 ? "" : "s", GG_STR_ARG(state->took)),
                "graphglue.glueAll");
        else
            add(lenses, document, state->span, state->said, "graphglue.capture");
        if (state->unwritten)
            add(lenses, document, state->span, GG_STR("Write example inputs"), "graphglue.writeInputs");
    }
    gg_list_clear(&states);
    gg_call_reply_take(call, lenses);
}
