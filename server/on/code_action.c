/* textDocument/codeAction: which rules offer to mend the sites in the range, and how to ignore what is shown there.  Offers are cheap (the syntax
 * tree and the capture's facts) but need the tree of the text as it is now, so they are looked up in a job.  Nothing is verified here: that is
 * codeAction/resolve's, or the command's. */
#include <stdio.h>

#include "server/llm/model.h"
#include "server/on/on.h"

enum { MAX_SITES = 32, MAX_OFFERS = 8, ID_BYTES = 48 /* a rule's name stands for the id where there is none */ };

typedef struct ignorable { /* a site or prediction that a comment can silence */
    gg_span span;
    char id[ID_BYTES];
    json_t *diagnostic;
    gg_str comment; /* in the lookup's arena; empty: there is no place for one */
    uint32_t at;
} ignorable;

typedef struct lookup {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    char *uri;
    gg_parse_input parse;
    gg_findings *findings; /* NULL: none */
    gg_arena *arena;
    gg_safety max_safety;
    bool fix_all; /* is asked for, too */
    size_t sites[MAX_SITES], site_count;
    gg_span spans[MAX_SITES];
    const gg_rule *offers[MAX_SITES][MAX_OFFERS];
    size_t offer_counts[MAX_SITES];
    ignorable ignorables[MAX_SITES];
    size_t ignorable_count;
    gg_tree *tree;
    uint64_t revision, generation;
    atomic_bool canceled;
} lookup;

/* A last resort is offered where nothing else is. */
static size_t without_last_resorts(const gg_rule **offers, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!offers[i]->last_resort) offers[kept++] = offers[i];
    return kept ? kept : count;
}

static void look_up(void *data) {
    lookup *l = data;
    gg_error err = {0};
    if (gg_parse_input_run(&l->parse, &l->tree, &err) != 0) return;
    for (size_t i = 0; i < l->site_count; i++) {
        gg_rule_input in = {.tree = l->tree, .site = &l->findings->sites.items[l->sites[i]], .span = l->spans[i]};
        size_t count = gg_repair_offers(&in, l->max_safety, l->offers[i], MAX_OFFERS);
        l->offer_counts[i] = without_last_resorts(l->offers[i], count);
    }
    for (size_t i = 0; i < l->ignorable_count; i++) {
        ignorable *g = &l->ignorables[i];
        g->comment = gg_ignore_comment(l->tree, g->span, gg_str_from(g->id), l->arena, &g->at);
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

/* What no rule mends, or not as the user likes.  It takes long, so it is a command in every client: progress is shown, and it can be given up. */
static json_t *model_action(const lookup *l, const gg_document *document, size_t i, const char *what,
                            const char *command_name, const char *model) {
    const gg_session *session = l->session;
    gg_arena *arena = gg_arena_new();
    gg_str title = gg_arena_printf(arena, "%s with %s", what, model);
    json_t *command = json_pack("{s:s%, s:s, s:[o]}", "title", title.ptr, title.len, "command", command_name,
                                "arguments", gg_glue_model_offer(document, l->sites[i]));
    if (GG_HAS(session, ACTION_LITERALS))
        command = json_pack("{s:s%, s:s, s:[o], s:o}", "title", title.ptr, title.len, "kind", "quickfix", "diagnostics",
                            gg_diagnostic_of_site(document, l->sites[i]), "command", command);
    gg_arena_free(arena);
    return command;
}

/* A comment needs no proof: its edit comes along.  Clients that know commands only do without, and so do those that know nothing of preference nor of
 * resolving: they may apply all that is offered (Kate's Quick Fix), and what is mended is not to be silenced too. */
static void add_ignore(json_t *actions, const lookup *l, const gg_document *document, const ignorable *g) {
    const gg_session *session = l->session;
    bool chooses = GG_HAS(session, ACTION_PREFERRED) || GG_HAS(session, ACTION_RESOLVE);
    if (g->comment.len == 0 || !GG_HAS(session, ACTION_LITERALS) || !chooses) return;
    gg_edits edits = {0};
    char title[ID_BYTES + 16];
    snprintf(title, sizeof(title), "Ignore %s here", g->id);
    gg_edits_add(&edits, (gg_span){g->at, g->at}, g->comment);
    json_array_append_new(actions,
                          json_pack("{s:s, s:s, s:[O], s:o}", "title", title, "kind", "quickfix", "diagnostics",
                                    g->diagnostic, "edit", gg_workspace_edit_json(l->session, document, &edits)));
    gg_edits_clear(&edits);
}

static void release(lookup *l) {
    gg_parse_input_clear(l->session, &l->parse);
    gg_findings_unref(l->session, &l->findings);
    gg_tree_drop(l->session, &l->tree);
    for (size_t i = 0; i < l->ignorable_count; i++) json_decref(l->ignorables[i].diagnostic);
    gg_arena_free(l->arena);
    gg_free(l->uri);
    gg_free(l);
}

/* Asked for by name only: a client that runs it on save does so. */
static bool wants_fix_all(const gg_lsp_code_action_context *context) {
    static const char *const kinds[] = {"source", "source.fixAll", "source.fixAll.graphglue"};
    for (uint32_t i = 0; context->only.items && i < context->only.len; i++)
        for (size_t j = 0; j < GG_COUNT(kinds); j++)
            if (gg_str_is(context->only.items[i], kinds[j])) return true;
    return false;
}

/* Offered where something breaks that settings let be seen; whether it can be mended is found out when it is chosen. */
static void add_fix_all(json_t *actions, const gg_document *document) {
    const gg_session *session = document->session;
    bool breaks = false;
    for (size_t i = 0; session->settings.trusted && document->findings && i < document->findings->sites.len; i++)
        breaks = breaks || (document->findings->local[i] && !document->marks[i].gone &&
                            gg_level_of_site(document, i) != GG_LEVEL_OFF);
    if (!breaks || !GG_HAS(session, ACTION_LITERALS)) return;
    json_t *data = gg_fix_all_offer(document);
    const char *title = "Glue all graphs of this file", *kind = "source.fixAll.graphglue";
    bool resolves = GG_HAS(session, ACTION_RESOLVE) && GG_HAS(session, ACTION_DATA);
    json_t *action = json_pack("{s:s, s:s}", "title", title, "kind", kind);
    if (resolves)
        json_object_set_new(action, "data", data);
    else
        json_object_set_new(
            action, "command",
            json_pack("{s:s, s:s, s:[o]}", "title", title, "command", "graphglue.glueAll", "arguments", data));
    json_array_append_new(actions, action);
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
        gg_error none = {0};
        gg_model_who model = {0};
        if (l->site_count) (void)!gg_model_who_read(&model, l->session, gg_options_of(document), &none);
        for (size_t i = 0; model.name && i < l->site_count; i++) { /* it is asked about a class or function */
            if (document->findings->sites.items[l->sites[i]].enclosing.len == 0) continue;
            json_array_append_new(
                actions, model_action(l, document, i, "Glue this graph", "graphglue.glueWithModel", model.name));
            json_array_append_new(actions,
                                  model_action(l, document, i, "Explain this break", "graphglue.explain", model.name));
        }
        gg_model_who_clear(&model);
        for (size_t i = 0; i < l->ignorable_count; i++) add_ignore(actions, l, document, &l->ignorables[i]);
        if (l->fix_all) add_fix_all(actions, document);
        gg_call_reply_take(l->call, actions);
    }
    release(l);
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

static bool overlaps(gg_span span, gg_span range) {
    return span.end >= range.start && span.start <= range.end;
}

static void add_ignorable(lookup *l, gg_span span, gg_str id, json_t *diagnostic_take) {
    ignorable *g = &l->ignorables[l->ignorable_count++];
    *g = (ignorable){.span = span, .diagnostic = diagnostic_take};
    snprintf(g->id, sizeof(g->id), "%.*s", GG_STR_ARG(id));
}

static void choose_sites(lookup *l, const gg_document *document, gg_span range) {
    for (size_t i = 0; i < l->findings->sites.len && l->site_count < MAX_SITES; i++) {
        gg_mark mark = document->marks[i];
        if (!l->findings->local[i] || !overlaps(mark.span, range) || gg_level_of_site(document, i) == GG_LEVEL_OFF)
            continue;
        if (l->ignorable_count < MAX_SITES)
            add_ignorable(l, mark.span, l->findings->sites.items[i].id, gg_diagnostic_of_site(document, i));
        if (mark.faded) continue;
        l->spans[l->site_count] = mark.span;
        l->sites[l->site_count++] = i;
    }
}

static void choose_predictions(lookup *l, const gg_document *document, gg_span range) {
    const gg_predicted *p = document->predicted;
    for (size_t i = 0; p && i < p->list.len && l->ignorable_count < MAX_SITES; i++)
        if (overlaps(p->spans[i], range) && gg_level_of_prediction(document, i) != GG_LEVEL_OFF)
            add_ignorable(l, p->spans[i], p->list.items[i].id, gg_diagnostic_of_prediction(document, i));
}

/* The range, or what of it the client's own diagnostics of ours cover: Kate asks of the whole file, for the one at the cursor, and applies all that it gets. */
static gg_span asked_of(const gg_document *document, const gg_lsp_code_action_params *p) {
    gg_span range = gg_span_of(document->session, document->text, &p->range), hull = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < p->context.diagnostics.len; i++) {
        const gg_lsp_diagnostic *d = &p->context.diagnostics.items[i];
        gg_span span = gg_span_of(document->session, document->text, &d->range);
        if (!gg_str_is(d->source, "graphglue") || !overlaps(span, range)) continue;
        if (span.start < hull.start) hull.start = span.start;
        if (span.end > hull.end) hull.end = span.end;
    }
    if (hull.start > hull.end) return range;
    if (hull.start > range.start) range.start = hull.start;
    if (hull.end < range.end) range.end = hull.end;
    return range;
}

GG_HANDLER(gg_on_code_action) {
    const gg_lsp_code_action_params *p = params;
    gg_document *document = gg_document_find(session, p->text_document.uri);
    bool all = wants_fix_all(&p->context), quick = wants_quickfix(&p->context);
    if (document == NULL || !document->python || document->lost || gg_document_is_excluded(document) ||
        !(quick || all)) {
        gg_call_reply_take(call, json_array());
        return;
    }
    lookup *l = gg_calloc(1, sizeof(lookup));
    *l = (lookup){.session = session,
                  .call = call,
                  .uri = gg_str_dup(p->text_document.uri),
                  .arena = gg_arena_new(),
                  .findings = session->settings.trusted ? gg_findings_ref(document->findings) : NULL,
                  .max_safety = gg_options_of(document)->max_safety,
                  .fix_all = all,
                  .revision = document->revision,
                  .generation = document->findings_generation};
    l->parse = gg_parse_input_of(document, &l->canceled);
    gg_span range = asked_of(document, p);
    if (quick && l->findings) choose_sites(l, document, range);
    if (quick) choose_predictions(l, document, range);
    if (l->site_count + l->ignorable_count == 0) { /* nothing to look up */
        json_t *actions = json_array();
        release(l);
        if (all) add_fix_all(actions, document);
        gg_call_reply_take(call, actions);
        return;
    }
    call->work = l;
    call->on_cancel = on_cancel;
    gg_job_start(session, look_up, on_looked_up, l);
}
