/* CPU-bound work off the loop, in libuv's thread pool, on immutable snapshots.  Started and finished on the loop thread. */
#include "server/session.h"

typedef struct job {
    uv_work_t request;
    gg_session *session;
    void (*work)(void *data), (*done)(void *data);
    void *data;
} job;

static void on_work(uv_work_t *request) {
    job *j = request->data;
    j->work(j->data);
}

static void on_done(uv_work_t *request, int status) {
    job *j = request->data;
    (void)
        status; /* jobs are never canceled before they began: they are short, and done() must release what they hold */
    j->session->jobs--;
    j->done(j->data);
    gg_free(j);
}

void gg_job_start(gg_session *session, void (*work)(void *data), void (*done)(void *data), void *data) {
    job *j = gg_calloc(1, sizeof(job));
    *j = (job){.session = session, .work = work, .done = done, .data = data};
    j->request.data = j;
    session->jobs++;
    uv_queue_work(&session->loop, &j->request, on_work, on_done);
}

gg_parse_input gg_parse_input_of(const gg_document *document) {
    gg_parse_input input = {.text = gg_text_ref(document->text)};
    if (document->tree) input.old = gg_tree_ref(document->tree);
    input.change_count = document->tree_changes.len;
    input.changes = gg_calloc(input.change_count, sizeof(gg_change));
    if (input.change_count) memcpy(input.changes, document->tree_changes.items, input.change_count * sizeof(gg_change));
    return input;
}

int gg_parse_input_run(const gg_parse_input *input, gg_tree **tree_out, gg_error *err) {
    if (input->old && input->change_count == 0) {
        *tree_out = gg_tree_ref(input->old);
        return 0;
    }
    return gg_tree_parse(tree_out, input->text, input->old, input->changes, input->change_count, NULL, err);
}

void gg_parse_input_clear(gg_parse_input *input) {
    gg_text_unref(&input->text);
    gg_tree_unref(&input->old);
    gg_free(input->changes);
}

void gg_document_offer_tree(gg_document *document, const gg_tree *tree) {
    if (tree == NULL || document->closed || gg_tree_text(tree) != document->text) return;
    gg_tree_unref(&document->tree);
    document->tree = gg_tree_ref(tree);
    document->tree_changes.len = 0;
}
