/* See workspace_scan.h.
 *
 * DESIGN  One job finds the files, then one at a time is read and predicted: an edit's own job waits for one file at most.  What a file said is kept
 * with its size and time, so that the next scan looks at those only.  A client asks again as soon as it was answered; where it tells of changed
 * files, its next request is held until there is something new, else it would cost a walk over the folders every few seconds. */
#include "server/workspace_scan.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "server/files.h"

enum { REPORTS_AT_ONCE = 32 };

/* What a file said when it was last read. */
typedef struct gg_scanned_file {
    char *path;
    off_t size;
    struct timespec changed;
    json_t *options; /* values of its settings then */
    json_t *items;
    uint64_t id; /* names the result */
} gg_scanned_file;

typedef struct gg_workspace_scan {
    gg_session *session;
    gg_call *call; /* NULL: canceled */
    json_t *previous, *token, *reports;
    json_t *over; /* the client's settings: this scan's own copy */
    gg_words folders, files;
    GG_LIST(size_t) roots; /* of each file its folder */
    GG_LIST(gg_option_cache *) options;
    size_t next;
    uint64_t epoch;   /* of the session when it was begun */
    bool begun, held; /* neither: it waits for another scan; held: for something new */
    bool news;        /* something was reported that the client had not */
    atomic_bool canceled;
    gg_scanned_file file; /* the one in hand: what was kept of it, then, if it was read, what it says now */
    bool was_read, unreadable, any_read;
} scan;

/* ---- found --------------------------------------------------------------------------------------------------------------------- */

typedef struct finding {
    scan *scan;
    gg_option_cache *options;
} finding;

static bool excluded(void *data, const char *folder, const char *path, const char *shown) {
    const finding *f = data;
    const gg_words *roots = &f->scan->folders;
    for (size_t i = 0; i < roots->len; i++) /* what lies in a folder in a folder is found there */
        if (strcmp(roots->items[i], shown) == 0) return true;
    return atomic_load(&f->scan->canceled) ||
           gg_options_exclude_one(gg_option_cache_at(f->options, folder), path, path);
}

static void find_files(void *data) {
    scan *s = data;
    for (size_t i = 0; i < s->folders.len; i++) {
        gg_list_push(&s->options, gg_option_cache_new(s->over, s->folders.items[i]));
        finding f = {s, s->options.items[i]};
        gg_files_below(&s->files, s->folders.items[i], excluded, &f);
        while (s->roots.len < s->files.len) gg_list_push(&s->roots, i);
    }
}

/* ---- a file ---------------------------------------------------------------------------------------------------------------------- */

static json_t *predict(const scan *s, const char *path, const gg_options *options) {
    json_t *items = json_array();
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_error err = {0};
    gg_arena *arena = gg_arena_new();
    if (gg_text_read(&text, path, &err) == 0 && gg_tree_parse(&tree, text, NULL, NULL, 0, &s->canceled, &err) == 0) {
        gg_prediction_list list = gg_predict(tree, arena);
        gg_ignore_list ignores = gg_ignores_of(tree, arena);
        for (size_t i = 0; i < list.len; i++) {
            const gg_prediction *p = &list.items[i];
            gg_level level = gg_prediction_level(options, p);
            if (level != GG_LEVEL_OFF && !gg_is_ignored(&ignores, p->span, p->id, p->rule))
                json_array_append_new(items, gg_prediction_json(s->session, text, p, p->span, level));
        }
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    gg_arena_free(arena);
    return items;
}

static void read_file(void *data) {
    scan *s = data;
    gg_scanned_file *f = &s->file;
    struct stat info;
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", f->path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    s->unreadable = stat(f->path, &info) != 0 || !S_ISREG(info.st_mode);
    if (s->unreadable) return;
    const gg_options *options = gg_option_cache_at(s->options.items[s->roots.items[s->next]], folder);
    if (f->items && f->size == info.st_size && f->changed.tv_sec == info.st_mtim.tv_sec &&
        f->changed.tv_nsec == info.st_mtim.tv_nsec && json_equal(f->options, options->values))
        return;
    f->size = info.st_size;
    f->changed = info.st_mtim;
    f->options = json_deep_copy(options->values);
    f->items = options->predict ? predict(s, f->path, options) : json_array();
    s->was_read = s->any_read = true;
}

/* ---- reported -------------------------------------------------------------------------------------------------------------------- */

static void flush(scan *s, size_t least) {
    if (s->token == NULL || json_array_size(s->reports) < least) return;
    gg_notify_take(s->session, "$/progress",
                   json_pack("{s:O, s:{s:o}}", "token", s->token, "value", "items", s->reports));
    s->reports = json_array();
}

/* Of a URI: nothing where the client has nothing and there is nothing to say.  version: NULL where there is none. */
static void report(scan *s, const char *uri, uint64_t id, json_t *items_take, json_t *version_take) {
    char name[32];
    snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
    const char *had = json_string_value(json_object_get(s->previous, uri));
    bool same = had && strcmp(had, name) == 0;
    json_t *out = json_pack("{s:s, s:s, s:s, s:o}", "uri", uri, "kind", same ? "unchanged" : "full", "resultId", name,
                            "version", version_take);
    if (!same) json_object_set(out, "items", items_take);
    bool wanted = had || json_array_size(items_take);
    if (wanted) json_array_append(s->reports, out);
    s->news = s->news || (wanted && !same);
    json_decref(items_take);
    json_decref(out);
    json_object_del(s->previous, uri);
    flush(s, REPORTS_AT_ONCE);
}

static void begin(scan *s);

/* One at a time: what is kept of a file is read by the job that looks at it. */
static void begin_next(gg_session *session) {
    for (size_t i = 0; i < session->scans.len; i++)
        if (session->scans.items[i]->begun && !session->scans.items[i]->held) return;
    for (size_t i = 0; i < session->scans.len; i++) {
        if (session->scans.items[i]->begun) continue;
        begin(session->scans.items[i]);
        return;
    }
}

static void release(scan *s) {
    gg_session *session = s->session;
    for (size_t i = 0; i < session->scans.len; i++) {
        if (session->scans.items[i] != s) continue;
        gg_list_remove(&session->scans, i);
        break;
    }
    for (size_t i = 0; i < s->options.len; i++) gg_option_cache_free(s->options.items[i]);
    gg_list_clear(&s->options);
    gg_list_clear(&s->roots);
    gg_words_clear(&s->files);
    gg_words_clear(&s->folders);
    json_decref(s->previous);
    json_decref(s->token);
    json_decref(s->reports);
    json_decref(s->over);
    gg_free(s);
    if (session->state == GG_STATE_INITIALIZED) begin_next(session);
}

/* A thousand trees leave hundreds of megabytes with the allocator. */
static void give_memory_back(void *data) {
    (void)data;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void on_given_back(void *data) {
    (void)data;
}

static void answer(scan *s) {
    flush(s, 1);
    gg_call_reply_take(s->call, json_pack("{s:O}", "items", s->reports));
    release(s);
}

static void finish(scan *s) {
    const char *uri;
    json_t *id;
    void *next;
    if (s->any_read && s->session->state == GG_STATE_INITIALIZED)
        gg_job_start(s->session, give_memory_back, on_given_back, NULL);
    if (s->call == NULL) {
        release(s);
        return;
    }
    json_object_foreach_safe(s->previous, next, uri, id) { /* files that are gone */
        if (strcmp(json_string_value(id), "0") != 0) report(s, uri, 0, json_array(), json_null());
    }
    s->held = !s->news && GG_HAS(s->session, WATCH_FILES) && s->session->scan_epoch == s->epoch;
    if (s->held) {
        begin_next(s->session);
        return;
    }
    answer(s);
}

static gg_scanned_file *kept(gg_session *session, const char *path) {
    for (size_t i = 0; i < session->scanned_files.len; i++)
        if (strcmp(session->scanned_files.items[i]->path, path) == 0) return session->scanned_files.items[i];
    return NULL;
}

static void keep(gg_session *session, const gg_scanned_file *file) {
    gg_scanned_file *k = kept(session, file->path);
    if (k == NULL) {
        k = gg_calloc(1, sizeof(gg_scanned_file));
        k->path = gg_str_dup(gg_str_from(file->path));
        gg_list_push(&session->scanned_files, k);
    }
    bool other = !json_equal(k->items, file->items);
    json_decref(k->options);
    json_decref(k->items);
    k->size = file->size;
    k->changed = file->changed;
    k->options = file->options;
    k->items = file->items;
    if (other) k->id = ++session->revisions;
}

static void next_file(scan *s);

static void on_read(void *data) {
    scan *s = data;
    const char *path = s->files.items[s->next++];
    bool whole = !atomic_load(&s->canceled) && s->session->state == GG_STATE_INITIALIZED;
    if (s->was_read && whole) {
        keep(s->session, &s->file);
    } else if (s->was_read) { /* half of it, perhaps */
        json_decref(s->file.options);
        json_decref(s->file.items);
    }
    const gg_scanned_file *k = kept(s->session, path);
    if (k && s->call && whole && !s->unreadable && !gg_path_is_open(s->session, path)) {
        char *uri = gg_path_to_uri(path);
        report(s, uri, k->id, json_incref(k->items), json_null());
        gg_free(uri);
    }
    next_file(s);
}

static void next_file(scan *s) {
    while (s->next < s->files.len && gg_path_is_open(s->session, s->files.items[s->next])) s->next++;
    if (s->call == NULL || s->next == s->files.len) {
        finish(s);
        return;
    }
    const gg_scanned_file *k = kept(s->session, s->files.items[s->next]);
    s->file = k ? *k : (gg_scanned_file){.path = s->files.items[s->next]};
    s->was_read = s->unreadable = false;
    gg_job_start(s->session, read_file, on_read, s);
}

static void on_found(void *data) {
    next_file(data);
}

static void begin(scan *s) {
    gg_session *session = s->session;
    s->begun = true;
    s->epoch = session->scan_epoch;
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (!d->python) continue;
        gg_document_text(d);
        report(s, d->uri, d->generation, gg_diagnostics_json(d), json_integer((json_int_t)d->version));
    }
    gg_job_start(session, find_files, on_found, s);
}

static void on_cancel(gg_call *call) {
    scan *s = call->work;
    s->call = NULL;
    atomic_store(&s->canceled, true);
    if (s->held || !s->begun) release(s);
}

static void add_scan(gg_session *session, gg_call *call, json_t *previous_take, json_t *token_take) {
    scan *s = gg_calloc(1, sizeof(scan));
    *s = (scan){.session = session,
                .call = call,
                .previous = previous_take,
                .token = token_take,
                .reports = json_array(),
                .over = json_deep_copy(session->settings.values)};
    for (size_t i = 0; i < session->workspaces.len; i++) {
        const gg_workspace *w = session->workspaces.items[i];
        if (w->opened && !w->removed) gg_list_push(&s->folders, gg_str_dup(gg_str_from(w->folder)));
    }
    gg_list_push(&session->scans, s);
    call->work = s;
    call->on_cancel = on_cancel;
}

void gg_workspace_scan_start(gg_session *session, gg_call *call, json_t *previous_take, json_t *token_take) {
    add_scan(session, call, previous_take, token_take);
    begin_next(session);
}

/* Nothing was said to who waits that it did not have: the request is answered with that, and it asks again. */
void gg_workspace_scan_changed(gg_session *session) {
    session->scan_epoch++;
    for (size_t i = session->scans.len; i-- > 0;) {
        scan *s = session->scans.items[i];
        if (s->held) answer(s);
    }
}

void gg_workspace_scan_free(gg_session *session) {
    for (size_t i = 0; i < session->scanned_files.len; i++) {
        gg_scanned_file *k = session->scanned_files.items[i];
        gg_free(k->path);
        json_decref(k->options);
        json_decref(k->items);
        gg_free(k);
    }
    gg_list_clear(&session->scanned_files);
    gg_list_clear(&session->scans);
}
