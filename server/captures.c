/* Captures of documents: what is sent to the worker, and frames back into findings.  Loop thread only, but for the grouping job.
 *
 * A capture notes the changes made to the document while it runs, and carries its results through them.  Frames are kept as they came;
 * grouping them into sites reads library files, so it is a job.  One grouping runs at a time; what arrives meanwhile is grouped next. */
#include "server/capture_job.h"
#include "server/session.h"

typedef struct gg_capture {
    gg_document *document; /* NULL once it was closed or the capture was given up */
    gg_session *session;
    gg_workspace *workspace;
    gg_capture_job *job; /* NULL once done */
    gg_text *text;
    char *path;
    gg_noted_list changes; /* since text */
    json_t *entries;       /* finished ones */
    json_t *reads;         /* gg_document's */
    json_t *partial;       /* {"name":…, "breaks":[…]} of the one that runs; NULL */
    char *failure;
    gg_span failed; /* where in the text */
    bool located;
    char *output;
    bool done, grouping, again, canceled;
    bool queued;  /* nobody waits for it: it gives way to another that runs */
    bool looking; /* for a stored result; nothing was asked of the worker yet */
    bool gave_way;
    atomic_bool given_up; /* nobody waits for what the grouping job finds */
    bool streams; /* the first capture of a document shows what it finds as it comes; later ones replace all at once */
    gg_progress *progress;
} gg_capture;

typedef struct grouping {
    gg_capture *capture;
    json_t *entries; /* deep copy: jansson values are not shared between threads */
    char *failure;
    gg_span failed;
    bool located;
    gg_text *text;
    char *path;
    gg_registry_source *registry; /* the findings take it */
    bool done;                    /* nothing more will come */
    gg_findings *out;
} grouping;

void gg__capture_note_change(struct gg_capture *capture, gg_noted noted) {
    gg_noted_add(&capture->changes, noted);
}

static void free_capture(gg_capture *c) {
    gg_session *session = c->session;
    gg_progress_end(c->progress);
    gg_text_unref(&c->text);
    gg_list_clear(&c->changes);
    json_decref(c->entries);
    json_decref(c->partial);
    json_decref(c->reads);
    gg_free(c->failure);
    gg_free(c->path);
    gg_free(c);
    session->captures--;
}

/* ---- the grouping job ---------------------------------------------------------------------------------------------------- */

static gg_span line_span(const gg_text *text, uint32_t line) {
    gg_str content = gg_text_line(text, line ? line - 1 : 0);
    gg_str body = gg_str_trim(content);
    if (body.len == 0)
        return (gg_span){gg_text_line_start(text, line ? line - 1 : 0), gg_text_line_start(text, line ? line - 1 : 0)};
    uint32_t start = (uint32_t)(body.ptr - gg_text_bytes(text).ptr);
    return (gg_span){start, start + (uint32_t)body.len};
}

/* Where an entry is marked: its class or function when that lies in the document, else the first line. */
static gg_span entry_span(const grouping *g, const gg_entry *entry) {
    return line_span(g->text, entry->line && gg_str_is(entry->file, g->path) ? entry->line : 1);
}

/* The line that names the entry's class or function, below its decorators. */
static gg_span name_span(const grouping *g, const gg_tree *tree, const gg_entry *entry) {
    gg_span span = entry_span(g, entry);
    TSNode whole = tree ? gg_node_ancestor(gg_node_at(tree, span), "decorated_definition") : (TSNode){0};
    if (ts_node_is_null(whole) || gg_node_span(whole).start != span.start) return span;
    TSNode definition = ts_node_child_by_field_name(whole, "definition", 10);
    return ts_node_is_null(definition) ? span : line_span(g->text, ts_node_start_point(definition).row + 1);
}

static const gg_entry *entry_named(const gg_findings *f, gg_str name) {
    for (size_t i = 0; i < f->entry_count; i++)
        if (gg_str_equal(f->entries[i].name, name)) return &f->entries[i];
    return NULL;
}

static void add_problem(gg_findings *f, gg_span span, int severity, const char *code, gg_str message) {
    f->problems[f->problem_count++] = (gg_problem){span, severity, code, gg_arena_str(f->arena, message)};
}

static void find_problems(const grouping *g, gg_findings *f) {
    f->problems = GG_ARENA_ARRAY(f->arena, gg_problem, f->entry_count + 1);
    if (g->failure)
        add_problem(f, g->located ? g->failed : line_span(g->text, 1), 1, "capture", gg_str_from(g->failure));
    for (size_t i = 0; i < f->entry_count; i++) {
        const gg_entry *e = &f->entries[i];
        bool good = e->status == GG_ENTRY_CAPTURED || e->status == GG_ENTRY_NOTHING;
        if (e->message.len == 0 || (good && !e->never_settles && !gg_entry_lacks_device(e))) continue;
        int severity = e->never_settles && (good || e->status == GG_ENTRY_BREAKS) ? 2
                       : good || e->status == GG_ENTRY_NO_INPUTS                  ? 4
                       : e->status == GG_ENTRY_BREAKS                             ? 3
                                                                                  : 1;
        gg_str said = gg_arena_printf(f->arena, "%.*s: %.*s", GG_STR_ARG(e->name), GG_STR_ARG(e->message));
        add_problem(f, entry_span(g, e), severity, e->never_settles ? "recompiles" : gg_entry_status_name(e->status),
                    said);
    }
}

static void group(void *data) {
    grouping *g = data;
    gg_error err = {0};
    gg_arena *arena = gg_arena_new();
    gg_findings *f = GG_ARENA_NEW(arena, gg_findings);
    *f = (gg_findings){.refs = 1, .arena = arena, .text = gg_text_ref(g->text), .registry = g->registry};
    g->out = f;
    size_t total = json_array_size(g->entries);
    f->entries = GG_ARENA_ARRAY(arena, gg_entry, total);
    for (size_t i = 0; i < total; i++) {
        if (gg_entry_decode(&f->entries[f->entry_count], json_array_get(g->entries, i), arena, &err) == 0)
            f->entry_count++;
        else
            gg_log(GG_LOG_ERROR, "the worker sent a malformed entry: %s", err.message);
    }
    if (gg_tree_parse(&f->tree, g->text, NULL, NULL, 0, &g->capture->given_up, &err) == 0) {
        gg_sources *sources = gg_sources_new();
        gg_sources_put(sources, gg_str_from(g->path), g->text, f->tree);
        f->sites = gg_sites_group(f->entries, f->entry_count, sources, gg_registry_source_get(f->registry), arena);
        gg_sources_free(sources);
        if (g->done) f->predicted = gg_predict(f->tree, arena);
    }
    f->whole = g->done && g->failure == NULL && gg_entries_whole(f->entries, f->entry_count);
    f->site_spans = GG_ARENA_ARRAY(arena, gg_span, f->sites.len);
    f->local = GG_ARENA_ARRAY(arena, bool, f->sites.len);
    f->hindrances = GG_ARENA_ARRAY(arena, gg_hindrance, f->sites.len);
    for (size_t i = 0; i < f->sites.len; i++) {
        const gg_site *site = &f->sites.items[i];
        const gg_entry *entry = site->entry_count ? entry_named(f, site->entries[0]) : NULL;
        f->local[i] = gg_str_is(site->file, g->path);
        f->site_spans[i] = f->local[i] ? site->span : entry ? entry_span(g, entry) : line_span(g->text, 1);
        gg_rule_input in = {.tree = f->tree, .site = site, .span = site->span};
        f->hindrances[i] = (gg_hindrance){0};
        if (f->local[i]) (void)gg_repair_hindrance(&in, GG_SAFETY_CONFIG, &f->hindrances[i]);
    }
    f->entry_spans = GG_ARENA_ARRAY(arena, gg_span, f->entry_count);
    for (size_t i = 0; i < f->entry_count; i++) f->entry_spans[i] = name_span(g, f->tree, &f->entries[i]);
    find_problems(g, f);
}

static void start_grouping(gg_capture *c);

static void log_end(const gg_capture *c, const gg_findings *f) {
    if (c->canceled || c->failure)
        gg_log(GG_LOG_INFO, "%s: %s", c->path, c->canceled ? "the capture was canceled" : c->failure);
    else
        gg_log(GG_LOG_INFO, "%s: captured; entries: %zu, places that break: %zu", c->path, f->entry_count,
               f->sites.len);
}

static void on_grouped(void *data) {
    grouping *g = data;
    gg_capture *c = g->capture;
    c->grouping = false;
    gg_document *document = c->document;
    if (document) {
        gg_document_offer_tree(document, g->out->tree);
        gg_document_set_findings(document, g->out, c->changes.items, c->changes.len);
    } else {
        gg_findings_unref(c->session, &g->out);
    }
    json_decref(g->entries);
    gg_text_unref(&g->text);
    gg_free(g->failure);
    gg_free(g->path);
    gg_free(g);
    if (c->again) {
        start_grouping(c);
        return;
    }
    if (!c->done) return;
    gg_session *session = c->session;
    bool once_more = false;
    if (document) {
        log_end(c, document->findings);
        json_decref(document->reads);
        document->reads = c->reads;
        c->reads = NULL;
        document->capture = NULL;
        once_more = document->capture_again;
        document->capture_again = false;
    }
    free_capture(c);
    gg_ask_to_pull(session);
    if (document && GG_HAS(session, LENS_REFRESH))
        gg_request_take(session, "workspace/codeLens/refresh", NULL, NULL, NULL);
    if (document && GG_HAS(session, HINT_REFRESH) && !GG_HAS(session, LENS))
        gg_request_take(session, "workspace/inlayHint/refresh", NULL, NULL, NULL);
    if (once_more) gg_capture_start(document);
    gg_captures_next(session);
}

static void start_grouping(gg_capture *c) {
    if (!c->streams && !c->done) return;
    c->again = c->grouping;
    if (c->grouping) return;
    grouping *g = gg_calloc(1, sizeof(grouping));
    *g = (grouping){.capture = c,
                    .done = c->done,
                    .entries = json_deep_copy(c->entries),
                    .text = gg_text_ref(c->text),
                    .path = gg_str_dup(gg_str_from(c->path)),
                    .registry = c->workspace ? gg_registry_source_ref(c->workspace->registry) : NULL};
    if (c->partial) json_array_append_new(g->entries, json_deep_copy(c->partial));
    if (c->failure) g->failure = gg_str_dup(gg_str_from(c->failure));
    g->failed = c->failed;
    g->located = c->located;
    c->grouping = true;
    gg_job_start(c->session, group, on_grouped, g);
}

/* ---- frames ------------------------------------------------------------------------------------------------------------------ */

static void on_break(gg_capture *c, const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "entry"));
    if (c->partial == NULL)
        c->partial = json_pack("{s:s, s:s, s:s, s:i, s:[], s:[]}", "name", name ? name : "", "inputs", "", "status",
                               "breaks", "graphs", 1, "ops", "breaks"); /* that there is none is known at the end */
    json_array_append(json_object_get(c->partial, "breaks"), json_object_get(frame, "break"));
    gg_progress_say(c->progress, "graph breaks found");
    start_grouping(c);
}

static void keep_reads(gg_capture *c, const json_t *reads) {
    if (!json_is_array(reads)) return;
    c->reads = json_object();
    size_t i;
    json_t *one;
    json_array_foreach(reads, i, one) {
        const char *file = json_string_value(json_object_get(one, "file")),
                   *origin = json_string_value(json_object_get(one, "origin"));
        if (file && origin && strcmp(origin, "workspace") == 0 && strcmp(file, c->path) != 0)
            json_object_set_new(c->reads, file, json_true());
    }
}

/* Another one runs: nothing is kept but that it is still to be run. */
static void give_way(gg_capture *c) {
    gg_session *session = c->session;
    gg_document *document = c->document;
    free_capture(c);
    if (document) {
        bool at_once = document->capture_again;
        document->capture = NULL;
        document->capture_again = false;
        document->capture_turn = GG_CAPTURE_TO_RUN;
        if (at_once) gg_capture_start(document);
    }
    gg_captures_next(session);
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    gg_capture *c = data;
    if (c->reads == NULL) keep_reads(c, json_object_get(frame, "reads")); /* of `stored` or of `done` */
    if (strcmp(op, "stored") == 0) {
        gg_workspace_use_registry(c->workspace, json_string_value(json_object_get(frame, "registry")), NULL,
                                  json_string_value(json_object_get(frame, "torch")));
    }
    if (strcmp(op, "break") == 0) on_break(c, frame);
    if (strcmp(op, "entry") == 0) {
        json_array_append(c->entries, json_object_get(frame, "entry"));
        json_decref(c->partial);
        c->partial = NULL;
        if (c->document) start_grouping(c);
    }
    if (strcmp(op, "done") != 0) return;
    const char *status = json_string_value(json_object_get(frame, "status")),
               *message = json_string_value(json_object_get(frame, "message"));
    if (c->gave_way) {
        give_way(c);
        return;
    }
    if (status && strcmp(status, "canceled") == 0) {
        c->canceled = true;
    } else if (status && strcmp(status, "ok") != 0) {
        c->failure = gg_str_dup(gg_str_from(message ? message : status));
        c->located = gg_capture_place(frame, c->text, &c->failed);
    }
    json_decref(c->partial);
    c->partial = NULL;
    c->done = true;
    c->job = NULL;
    if (c->canceled && c->document) { /* what was found before stays */
        c->document->capture = NULL;
        c->document = NULL;
    }
    start_grouping(c);
}

static void on_cancel(void *data) {
    gg_capture *c = data;
    if (c->job) gg_capture_job_cancel(c->job);
}

static void fail_at_once(gg_document *document, const char *why) {
    gg_capture *c = gg_calloc(1, sizeof(gg_capture));
    *c = (gg_capture){.document = document,
                      .session = document->session,
                      .text = gg_text_ref(gg_document_text(document)),
                      .path = gg_str_dup(gg_str_from(document->path)),
                      .entries = json_array(),
                      .done = true};
    c->failure = gg_str_dup(gg_str_from(why));
    document->capture = c;
    document->session->captures++;
    start_grouping(c);
}

size_t gg_overlay_of(const gg_session *session, gg_overlay_file **out) {
    *out = gg_calloc(session->documents.len, sizeof(gg_overlay_file));
    size_t count = 0;
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (!gg_document_can_run(d)) continue;
        (*out)[count++] = (gg_overlay_file){gg_str_from(d->path), gg_text_bytes(gg_document_text(d))};
    }
    return count;
}

static gg_worker *worker_of(void *data, const char **why) {
    gg_capture *c = data;
    *why = "the server is ending";
    if (c->session->state != GG_STATE_INITIALIZED) return NULL;
    c->looking = false;
    c->gave_way = c->queued && gg__workspace_is_captured(c->session, c->workspace, c);
    if (c->gave_way) return NULL;
    gg_worker *worker = gg_workspace_worker(c->workspace);
    *why = c->workspace->error;
    return worker;
}

static void start(gg_document *document, bool queued) {
    gg_session *session = document->session;
    document->capture_turn = GG_CAPTURE_NOT_WAITING;
    if (!session->settings.trusted || !gg_document_can_run(document) || session->state != GG_STATE_INITIALIZED) return;
    if (document->capture) {
        document->capture_again = true;
        return;
    }
    if (session->asking) {
        document->capture_turn = queued ? GG_CAPTURE_TO_LOOK : GG_CAPTURE_NOW;
        return;
    }
    if (gg_document_is_excluded(document)) return;
    gg_workspace *workspace = gg_workspace_of(session, document->path);
    if (gg_workspace_worker(workspace) == NULL) {
        fail_at_once(document, workspace->error);
        return;
    }
    gg_overlay_file *overlay;
    size_t count = gg_overlay_of(session, &overlay);
    gg_capture *c = gg_calloc(1, sizeof(gg_capture));
    *c = (gg_capture){.document = document,
                      .session = session,
                      .workspace = workspace,
                      .text = gg_text_ref(gg_document_text(document)),
                      .path = gg_str_dup(gg_str_from(document->path)),
                      .entries = json_array(),
                      .queued = queued,
                      .looking = true};
    c->streams = document->findings == NULL;
    document->capture = c;
    session->captures++;
    c->progress = gg_progress_start(session, "graphglue: capturing", on_cancel, c);
    gg_capture_request request = {.file = gg_str_from(document->path),
                                  .overlay = overlay,
                                  .overlay_count = count,
                                  .deadline_ms = gg_options_of(document)->timeout_ms};
    const gg_settings *settings = &session->settings;
    bool store = gg_options_of(document)->store && workspace->opened &&
                 settings->remote.command.len == 0; /* what is read there is not seen */
    gg_capture_job_options options = {.loop = &session->loop,
                                      .python = workspace->python,
                                      .store = store ? workspace->folder : NULL,
                                      .fresh = document->fresh,
                                      .worker = worker_of,
                                      .on_frame = on_frame,
                                      .data = c};
    document->fresh = false;
    c->job = gg_capture_job_start(&options, &request);
    gg_free(overlay);
}

void gg_capture_start(gg_document *document) {
    start(document, false);
}

void gg__capture_start_queued(gg_document *document) {
    start(document, true);
}

bool gg__capture_gives_way(const gg_capture *c) {
    return c->queued && c->looking;
}

const gg_workspace *gg__capture_workspace(const gg_capture *c) {
    return c->workspace;
}

void gg_capture_cancel(gg_document *document) {
    gg_capture *c = document->capture;
    document->capture_again = false;
    document->capture_turn = GG_CAPTURE_NOT_WAITING;
    if (c == NULL) return;
    document->capture = NULL;
    c->document = NULL;
    atomic_store(&c->given_up, true);
    on_cancel(c);
}
