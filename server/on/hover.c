/* textDocument/hover: the explanation of the break at the position.  Loop thread only; formatting takes microseconds. */
#include "server/on/on.h"

enum { MAX_HOVER_BYTES = 256 * 1024, MAX_CALLERS = 8 };

static void reply_prediction(gg_session *session, gg_call *call, const gg_findings *f, const gg_prediction *p) {
    bool markdown = GG_HAS(session, MARKDOWN);
    gg_buf said;
    gg_buf_init(&said, MAX_HOVER_BYTES);
    const gg_registry *registry = f ? gg_registry_source_get(f->registry) : NULL;
    (void)gg_buf_printf(&said, "%.*s%s%.*s.\n\n", GG_STR_ARG(p->message), p->guard.len ? ", if this holds: " : "",
                        GG_STR_ARG(p->guard));
    if (!p->beyond &&
        gg_explain_id(&said, p->id, registry, markdown, NULL) != 0) /* of an id that only torch's registry knows */
        gg_log(GG_LOG_DEBUG, "no text for %.*s", GG_STR_ARG(p->id));
    gg_call_reply_take(call, json_pack("{s:{s:s, s:s%}}", "contents", "kind", markdown ? "markdown" : "plaintext",
                                       "value", said.ptr, said.len));
    gg_buf_clear(&said);
}

/* Who called, nearest first: for clients that show no related information of a diagnostic. */
static gg_str callers(const gg_session *session, const gg_site *site, bool markdown, gg_arena *arena) {
    if (GG_HAS(session, RELATED) || session->pulls || site->stack_len < 2) return GG_STR_NULL;
    gg_str out = markdown ? GG_STR("**Called from:**") : GG_STR("Called from:");
    for (size_t i = 1; i < site->stack_len && i <= MAX_CALLERS; i++) {
        const gg_frame *frame = &site->stack[i];
        if (frame->file.len == 0 || frame->file.ptr[0] != '/') continue;
        out = gg_arena_printf(arena, "%.*s\n%s%.*s (%.*s:%u)", GG_STR_ARG(out), markdown ? "- " : "  ",
                              GG_STR_ARG(frame->function), GG_STR_ARG(frame->file), frame->line);
    }
    return gg_arena_printf(arena, "\n\n%.*s\n", GG_STR_ARG(out));
}

/* Why no rule mends the site, while the text is the captured one: what is told of may be elsewhere in it. */
static gg_str hindrance(const gg_document *document, size_t i, bool markdown, gg_arena *arena) {
    const gg_findings *f = document->findings;
    const gg_hindrance *told = &f->hindrances[i];
    if (told->rule == NULL || !gg_str_equal(gg_text_bytes(f->text), gg_text_bytes(document->text))) return GG_STR_NULL;
    gg_str why = gg_hindrance_text(told, f->tree, markdown, arena);
    return gg_arena_printf(arena, "\n\n%sNo rule mends it.%s %s (%s) does not apply: %.*s\n", markdown ? "**" : "",
                           markdown ? "**" : "", told->rule->code, told->rule->name, GG_STR_ARG(why));
}

GG_HANDLER(gg_on_hover) {
    const gg_lsp_hover_params *p = params;
    const gg_document *document = gg_document_find(session, p->text_document.uri);
    const gg_findings *f = document ? document->findings : NULL;
    if (document && gg_document_is_excluded(document)) document = NULL, f = NULL;
    gg_lsp_range point = {p->position, p->position};
    uint32_t offset = document ? gg_span_of(session, document->text, &point).start : 0;
    for (size_t i = 0; f && session->settings.trusted && i < f->sites.len; i++) {
        gg_span span = document->marks[i].span;
        if (offset < span.start || offset > span.end || gg_level_of_site(document, i) == GG_LEVEL_OFF) continue;
        bool markdown = GG_HAS(session, MARKDOWN);
        gg_str said = gg_explain_site(&f->sites.items[i], f->local[i] ? f->tree : NULL,
                                      gg_registry_source_get(f->registry), markdown, call->arena);
        gg_str why = hindrance(document, i, markdown, call->arena);
        if (why.len) said = gg_arena_printf(call->arena, "%.*s%.*s", GG_STR_ARG(said), GG_STR_ARG(why));
        gg_str from = callers(session, &f->sites.items[i], markdown, call->arena);
        if (from.len) said = gg_arena_printf(call->arena, "%.*s%.*s", GG_STR_ARG(said), GG_STR_ARG(from));
        gg_str words = gg_explained_words(document, i, markdown, call->arena);
        if (words.len) said = gg_arena_printf(call->arena, "%.*s%.*s", GG_STR_ARG(words), GG_STR_ARG(said));
        gg_call_reply_take(call, json_pack("{s:{s:s, s:s%}, s:o}", "contents", "kind",
                                           markdown ? "markdown" : "plaintext", "value", said.ptr, said.len, "range",
                                           gg_range_json(session, document->text, span)));
        return;
    }
    const gg_prediction *predicted = document ? gg_prediction_at(document, offset) : NULL;
    if (predicted) {
        reply_prediction(session, call, f, predicted);
        return;
    }
    gg_call_reply_take(call, json_null());
}
