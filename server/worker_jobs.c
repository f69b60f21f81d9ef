/* The worker's jobs: submit, write, cancel, answer.  Loop thread only.
 *
 * A job is written when all before it are done, so that a crash loses only the one that ran.  A job that was written but not begun when the
 * process died is sent once more, to the next one.  A callback may submit, cancel or close: nothing is held across it but the worker. */
#include "server/recorded.h"
#include "server/worker_parts.h"

enum { MAX_SENDS = 2, DEFAULT_DEADLINE_MS = 60000 };

static size_t find_job(const gg_worker *worker, json_int_t id) {
    for (size_t i = 0; i < worker->jobs.len; i++)
        if (worker->jobs.items[i].id == id) return i;
    return SIZE_MAX;
}

static void finish_job(gg_worker *worker, size_t index, const json_t *frame) {
    gg__job done = worker->jobs.items[index];
    gg_list_remove(&worker->jobs, index);
    gg_buf_clear(&done.request);
    gg_free(done.refusal);
    done.on_frame(done.data, "done", frame);
}

static void fail_job(gg_worker *worker, size_t index, const char *status, const char *message, bool given_up) {
    json_t *frame = json_pack("{s:s, s:I, s:s, s:s?, s:s, s:b}", "op", "done", "id", worker->jobs.items[index].id,
                              "status", status, "message", message, "output", "", "given_up", given_up);
    finish_job(worker, index, frame);
    json_decref(frame);
}

/* ---- those that will not run ------------------------------------------------------------------------------------------- */

void gg__jobs_answer(gg_worker *worker) {
    if (!worker->closing) uv_timer_start(&worker->answer, gg__jobs_on_answer, 0, 0);
}

static bool answer_one(gg_worker *worker, json_int_t last) {
    for (size_t i = 0; i < worker->jobs.len && worker->jobs.items[i].id <= last; i++) {
        const gg__job *j = &worker->jobs.items[i];
        if (j->state != GG__JOB_WAITING) continue;
        if (j->canceled || j->refusal || worker->given_up) {
            char *why = j->canceled ? NULL : gg_str_dup(gg_str_from(j->refusal ? j->refusal : worker->info.error));
            bool given_up = !j->canceled && !j->refusal;
            fail_job(worker, i, j->canceled ? "canceled" : j->refusal ? "error" : worker->given_up, why, given_up);
            gg_free(why);
            return true;
        }
    }
    return false;
}

void gg__jobs_on_answer(uv_timer_t *timer) {
    gg_worker *worker = timer->data;
    json_int_t last = worker->next_id; /* what a callback submits has a turn of its own */
    while (answer_one(worker, last)) {}
    gg__jobs_write(worker);
}

void gg__jobs_process_gone(gg_worker *worker, const char *why) {
    if (worker->jobs.len == 0 || worker->jobs.items[0].state == GG__JOB_WAITING) return;
    gg__job *first = &worker->jobs.items[0];
    if (first->state == GG__JOB_WRITTEN && first->sent < MAX_SENDS && !first->canceled)
        first->state = GG__JOB_WAITING;
    else
        fail_job(worker, 0, first->canceled ? "canceled" : "crashed", why, false);
}

void gg__jobs_cancel_all(gg_worker *worker) {
    while (worker->jobs.len) fail_job(worker, 0, "canceled", NULL, false);
}

/* ---- those that run ------------------------------------------------------------------------------------------------------ */

void gg__jobs_write(gg_worker *worker) {
    if (worker->process == NULL || worker->info.state != GG_WORKER_READY || worker->closing) return;
    if (worker->jobs.len) {
        gg__job *first = &worker->jobs.items[0];
        if (first->state != GG__JOB_WAITING || first->canceled || first->refusal || first->reading)
            return; /* it runs, is answered soon, or will be ready soon */
        gg_buf copy;
        gg_buf_init(&copy, first->request.max);
        gg_buf_append(&copy, gg_buf_str(&first->request));
        first->state = GG__JOB_WRITTEN;
        first->sent++;
        gg_worker_process_write(worker->process, &copy);
    }
    gg__worker_watch(worker);
}

void gg__jobs_frame(gg_worker *worker, const char *op, const json_t *frame) {
    size_t index = find_job(worker, json_integer_value(json_object_get(frame, "id")));
    if (index == SIZE_MAX || worker->jobs.items[index].state == GG__JOB_WAITING)
        return; /* not asked for, or answered */
    gg__job *job = &worker->jobs.items[index];
    if (strcmp(op, "done") == 0) {
        worker->starts_in_a_row = 0;
        finish_job(worker, index, frame);
        gg__jobs_write(worker);
        return;
    }
    if (job->state == GG__JOB_WRITTEN) {
        job->state = GG__JOB_STARTED;
        gg_buf_clear(&job->request);
    }
    if (!job->canceled) gg__worker_watch(worker); /* its frames do not lengthen the wait for a canceled job's end */
    job->on_frame(job->data, op, frame);
}

/* ---- requests ------------------------------------------------------------------------------------------------------------- */

static void encode(gg__job *job, const json_t *request) {
    if (gg_worker_frame_write(&job->request, request, NULL) == 0) return;
    job->refusal = gg_str_dup(gg_str_from("the open buffers are too large to be sent to the worker: with all of them a "
                                          "request is over the limit of 64 MiB. Close some, or save them"));
    gg_buf_clear(&job->request);
}

/* The job can be sent, or is refused. */
static void on_prepared(gg_worker *worker, const gg__job *job) {
    if (job->refusal)
        gg__jobs_answer(worker);
    else if (worker->process == NULL)
        gg__worker_wanted(worker);
    else
        gg__jobs_write(worker);
}

/* What was recorded for a job's file lies here, and the worker elsewhere: it is sent along.  Read on libuv's threads; outlives its job when
 * that is canceled. */
typedef struct reading {
    uv_work_t work;
    gg_worker *worker;
    json_int_t job;
    json_t *request, *recorded;
    gg_remote remote; /* its own */
    char *file;
} reading;

static void on_read(uv_work_t *work) {
    reading *r = work->data;
    r->recorded = gg_recorded_read(r->file, &r->remote);
}

static void on_reading_done(uv_work_t *work, int status) {
    reading *r = work->data;
    gg_worker *worker = r->worker;
    size_t index = find_job(worker, r->job);
    (void)status;
    worker->open_readings--;
    if (index != SIZE_MAX) {
        gg__job *job = &worker->jobs.items[index];
        job->reading = false;
        if (r->recorded) json_object_set(r->request, "recorded", r->recorded);
        encode(job, r->request);
        on_prepared(worker, job);
    }
    json_decref(r->request);
    json_decref(r->recorded);
    gg_remote_clear(&r->remote);
    gg_free(r->file);
    gg_free(r);
    gg__worker_maybe_closed(worker);
}

static void start_reading(gg_worker *worker, const gg__job *job, const char *file, json_t *request) {
    reading *r = gg_calloc(1, sizeof(reading));
    *r = (reading){
        .worker = worker, .job = job->id, .request = json_incref(request), .file = gg_str_dup(gg_str_from(file))};
    r->work.data = r;
    gg_remote_copy(&r->remote, &worker->remote);
    worker->open_readings++;
    uv_queue_work(worker->loop, &r->work, on_read, on_reading_done);
}

/* ---- public ---------------------------------------------------------------------------------------------------------------- */

json_int_t gg_worker_submit(gg_worker *worker, json_t *request_take, gg_worker_on_frame on_frame, void *data) {
    gg_error err = {0};
    gg__job added = {.id = worker->next_id + 1, .on_frame = on_frame, .data = data};
    if (worker->closing) {
        json_decref(request_take);
        return 0;
    }
    worker->next_id = added.id;
    json_object_set_new(request_take, "id", json_integer(added.id));
    added.deadline_ms = (uint32_t)json_integer_value(json_object_get(request_take, "deadline_ms"));
    if (added.deadline_ms == 0) added.deadline_ms = DEFAULT_DEADLINE_MS;
    gg_buf_init(&added.request, GG_MAX_WORKER_FRAME_BYTES + 4);
    const char *name = json_string_value(json_object_get(request_take, "file"));
    char *file = gg_str_dup(gg_str_from(name ? name : ""));
    bool far = worker->remote.command.len > 0;
    if (far && gg_remote_request(&worker->remote, request_take, &err) != 0)
        added.refusal = gg_str_dup(gg_str_from(err.message));
    added.reading = far && added.refusal == NULL;
    if (!far) encode(&added, request_take);
    gg_list_push(&worker->jobs, added);
    if (added.reading) start_reading(worker, &added, file, request_take);
    on_prepared(worker, &added);
    gg_free(file);
    json_decref(request_take);
    return added.id;
}

void gg_worker_cancel(gg_worker *worker, json_int_t id) {
    size_t index = find_job(worker, id);
    if (index == SIZE_MAX || worker->jobs.items[index].canceled) return;
    gg__job *job = &worker->jobs.items[index];
    job->canceled = true;
    if (job->state == GG__JOB_WAITING) {
        gg__jobs_answer(worker);
        return;
    }
    gg_buf out;
    gg_buf_init(&out, 256);
    json_t *frame = json_pack("{s:s, s:I}", "op", "cancel", "id", id);
    if (gg_worker_frame_write(&out, frame, NULL) == 0) gg_worker_process_write(worker->process, &out);
    gg_buf_clear(&out);
    json_decref(frame);
    gg__worker_watch(worker);
}
