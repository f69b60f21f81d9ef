/* textDocument/codeAction: which rules offer to mend the sites in the range.  Offers are cheap (the syntax tree and the capture's facts) but need the
 * tree of the text as it is now, so they are looked up in a job.  Nothing is verified here: that is codeAction/resolve's, or the command's. */
#include "server/on/on.h"

enum { MAX_SITES = 32, MAX_OFFERS = 8 };

typedef struct lookup {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    char *uri;
    gg_parse_input parse;
    gg_findings *findings;
    gg_safety max_safety;
    size_t sites[MAX_SITES], site_count;
    gg_span spans[MAX_SITES];
    const gg_rule *offers[MAX_SITES][MAX_OFFERS];
    size_t offer_counts[MAX_SITES];
    gg_tree *tree;
    uint64_t revision, generation;
    atomic_bool canceled;
} lookup;

static void look_up(void *data) {
    lookup *l = data;
    gg_error err = {0};
    if (gg_parse_input_run(&l->parse, &l->tree, &err) != 0) return;
    for (size_t i = 0; i < l->site_count; i++) {
        gg_rule_input in = {l->tree, &l->findings->sites.items[l->sites[i]], l->spans[i]};
        l->offer_counts[i] = gg_repair_offers(&in, l->max_safety, l->offers[i], MAX_OFFERS);
    }
}

static json_t *action(const lookup *l, const gg_document *document, size_t i, size_t offer) {
    const gg_session *session = l->session;
    const gg_rule *rule = l->offers[i][offer];
    gg_arena *arena = gg_arena_new();
    gg_str title = gg_arena_printf(arena, "Glue this graph: %s", rule->title);
    json_t *data = gg_glue_offer(document, l->sites[i], rule), *out;
    if (!GG_HAS(session, ACTION_LITERALS)) { /* the oldest clients take commands only */
        out = json_pack("{s:s%, s:s, s:[o]}", "title", title.ptr, title.len, "command", "graphglue.glue", "arguments",
                        data);
        gg_arena_free(arena);
        return out;
    }
    out = json_pack("{s:s%, s:s, s:[o]}", "title", title.ptr, title.len, "kind", "quickfix", "diagnostics",
                    gg_diagnostic_of_site(document, l->sites[i]));
    if (GG_HAS(session, ACTION_PREFERRED)) json_object_set_new(out, "isPreferred", json_boolean(offer == 0));
    if (GG_HAS(session, ACTION_RESOLVE) && GG_HAS(session, ACTION_DATA))
        json_object_set_new(out, "data", data);
    else
        json_object_set_new(out, "command",
                            json_pack("{s:s%, s:s, s:[o]}", "title", title.ptr, title.len, "command", "graphglue.glue",
                                      "arguments", data));
    gg_arena_free(arena);
    return out;
}

static void on_looked_up(void *data) {
    lookup *l = data;
    gg_document *document = gg_document_find(l->session, gg_str_from(l->uri));
    if (document) gg_document_offer_tree(document, l->tree);
    bool fresh = document && document->revision == l->revision && document->findings_generation == l->generation;
    if (l->call && !fresh) {
        gg_call_fail(l->call, GG_ESTALE, "the document changed");
    } else if (l->call) {
        json_t *actions = json_array();
        for (size_t i = 0; i < l->site_count; i++)
            for (size_t j = 0; j < l->offer_counts[i]; j++) json_array_append_new(actions, action(l, document, i, j));
        gg_call_reply_take(l->call, actions);
    }
    gg_parse_input_clear(l->session, &l->parse);
    gg_findings_unref(l->session, &l->findings);
    gg_tree_drop(l->session, &l->tree);
    gg_free(l->uri);
    gg_free(l);
}

static void on_cancel(gg_call *call) {
    lookup *l = call->work;
    l->call = NULL;
    atomic_store(&l->canceled, true);
}

static bool wants_quickfix(const gg_lsp_code_action_context *context) {
    if (context->only.items == NULL) return true;
    for (uint32_t i = 0; i < context->only.len; i++)
        if (context->only.items[i].len == 0 || gg_str_is(context->only.items[i], "quickfix")) return true;
    return false;
}

GG_HANDLER(gg_on_code_action) {
    const gg_lsp_code_action_params *p = params;
    gg_document *document = gg_document_find(session, p->text_document.uri);
    if (document == NULL || document->findings == NULL || !session->settings.trusted || !wants_quickfix(&p->context)) {
        gg_call_reply_take(call, json_array());
        return;
    }
    lookup *l = gg_calloc(1, sizeof(lookup));
    *l = (lookup){.session = session,
                  .call = call,
                  .uri = gg_str_dup(p->text_document.uri),
                  .findings = gg_findings_ref(document->findings),
                  .max_safety = session->settings.max_safety,
                  .revision = document->revision,
                  .generation = document->findings_generation};
    l->parse = gg_parse_input_of(document, &l->canceled);
    gg_span range = gg_span_of(session, document->text, &p->range);
    for (size_t i = 0; i < l->findings->sites.len && l->site_count < MAX_SITES; i++) {
        gg_mark mark = document->marks[i];
        if (!l->findings->local[i] || mark.faded || mark.gone || mark.span.end < range.start ||
            mark.span.start > range.end)
            continue;
        l->spans[l->site_count] = mark.span;
        l->sites[l->site_count++] = i;
    }
    call->work = l;
    call->on_cancel = on_cancel;
    gg_job_start(session, look_up, on_looked_up, l);
}
