/* CPU-bound work off the loop, in libuv's thread pool, on immutable snapshots.  Started and finished on the loop thread.
 *
 * The pool is shared with the reading of files and of large messages, so that analysis never takes all of its threads. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "server/session.h"

enum { MAX_RUNNING = 3 /* the pool has 4 threads */, LARGE_BYTES = 64 * 1024 };

typedef struct gg_job {
    uv_work_t request;
    gg_session *session;
    void (*work)(void *data), (*done)(void *data);
    void *data;
    bool first;
} gg_job;

static void on_work(uv_work_t *request) {
    gg_job *j = request->data;
    j->work(j->data);
}

static void on_done(uv_work_t *request, int status);

static void run(gg_job *j) {
    if (!j->first) j->session->running_jobs++;
    uv_queue_work(&j->session->loop, &j->request, on_work, on_done);
}

static void on_done(uv_work_t *request, int status) {
    gg_job *j = request->data;
    gg_session *session = j->session;
    (void)
        status; /* jobs are never canceled before they began: they are short, and done() must release what they hold */
    session->jobs--;
    if (!j->first) session->running_jobs--;
    if (session->waiting_jobs.len && session->running_jobs < MAX_RUNNING) {
        gg_job *next = session->waiting_jobs.items[0];
        gg_list_remove(&session->waiting_jobs, 0);
        run(next);
    }
    j->done(j->data);
    gg_free(j);
}

static gg_job *new_job(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data) {
    gg_job *j = gg_calloc(1, sizeof(gg_job));
    *j = (gg_job){.session = session, .work = work, .done = done, .data = data};
    j->request.data = j;
    session->jobs++;
    return j;
}

void gg_job_start(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data) {
    gg_job *j = new_job(session, work, done, data);
    if (session->running_jobs < MAX_RUNNING)
        run(j);
    else
        gg_list_push(&session->waiting_jobs, j);
}

void gg_job_start_first(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data) {
    gg_job *j = new_job(session, work, done, data);
    j->first = true;
    run(j);
}

gg_parse_input gg_parse_input_of(gg_document *document, const atomic_bool *cancel) {
    gg_parse_input input = {.text = gg_text_ref(gg_document_text(document)), .cancel = cancel};
    if (document->tree) input.old = gg_tree_ref(document->tree);
    input.change_count = document->tree_changes.len;
    input.changes = gg_calloc(input.change_count, sizeof(gg_change));
    for (size_t i = 0; i < input.change_count; i++) input.changes[i] = document->tree_changes.items[i].change;
    return input;
}

int gg_parse_input_run(const gg_parse_input *input, gg_tree **tree_out, gg_error *err) {
    if (input->old && input->change_count == 0) {
        *tree_out = gg_tree_ref(input->old);
        return 0;
    }
    return gg_tree_parse(tree_out, input->text, input->old, input->changes, input->change_count, input->cancel, err);
}

void gg_parse_input_clear(gg_session *session, gg_parse_input *input) {
    gg_text_unref(&input->text);
    gg_tree_drop(session, &input->old);
    gg_free(input->changes);
}

static void drop(void *data) {
    gg_tree *tree = data;
    gg_tree_unref(&tree);
}

static void no_more(void *data) {
    (void)data;
}

static bool is_large(const gg_tree *tree) {
    return gg_text_bytes(gg_tree_text(tree)).len > LARGE_BYTES;
}

void gg_tree_drop(gg_session *session, gg_tree **tree) {
    gg_tree *t = *tree;
    *tree = NULL;
    bool later = t && is_large(t) && session->state == GG_STATE_INITIALIZED;
    if (later && gg_tree_unref_shared(&t)) return;
    if (later)
        gg_job_start(session, drop, no_more, t);
    else
        gg_tree_unref(&t);
}

void gg_document_offer_tree(gg_document *document, const gg_tree *tree) {
    if (tree == NULL || document->closed || gg_tree_text(tree) != gg_document_text(document)) return;
    gg_tree_drop(document->session, &document->tree);
    document->tree = gg_tree_ref(tree);
    document->tree_changes.len = 0;
}

/* ---- memory --------------------------------------------------------------------------------------------------------------------- */

static void trim(void *data) {
    (void)data;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void gg_document_give_back_memory(gg_document *document) {
    if (document->tree && is_large(document->tree)) gg_job_start(document->session, trim, no_more, NULL);
}
