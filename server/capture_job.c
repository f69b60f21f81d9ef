/* See capture_job.h.  States: looking → (stored result, or running) → done; storing goes on after `done`. */
#include "server/capture_job.h"

#include <string.h>
#include <time.h>

#include "server/result_cache.h"
#include "server/support.h"

struct gg_capture_job {
    gg_capture_job_options options;
    char *python, *store, *support;
    json_t *request;          /* until `done`, and while it is stored; read only */
    gg_overlay_file *overlay; /* views of the request's */
    size_t overlay_count;
    uv_work_t work;
    json_t *found;           /* by the look-up */
    json_t *entries, *reads; /* to be stored */
    gg_worker *worker;       /* while the worker has it */
    json_int_t id;
    int64_t started_ns;
    bool canceled, storable;
};

static void free_job(gg_capture_job *job) {
    json_decref(job->request);
    json_decref(job->found);
    json_decref(job->entries);
    json_decref(job->reads);
    gg_free(job->overlay);
    gg_free(job->python);
    gg_free(job->store);
    gg_free(job->support);
    gg_free(job);
}

static void with_key(gg_capture_job *job, void (*use)(gg_capture_job *job, const gg_cache_key *key)) {
    char *identity = gg_cache_identity(job->python, job->support);
    gg_cache_key key = {.workspace = job->store,
                        .identity = identity,
                        .file = json_string_value(json_object_get(job->request, "file")),
                        .mode = json_is_true(json_object_get(job->request, "train")) ? "train" : "",
                        .overlay = job->overlay,
                        .overlay_count = job->overlay_count};
    use(job, &key);
    gg_free(identity);
}

static void tell(gg_capture_job *job, const char *op, json_t *frame_take) {
    job->options.on_frame(job->options.data, op, frame_take);
    json_decref(frame_take);
}

static void tell_done(gg_capture_job *job, const char *status, const char *message) {
    tell(job, "done",
         json_pack("{s:s, s:s, s:s?, s:s}", "op", "done", "status", status, "message", message, "output", ""));
    free_job(job);
}

/* ---- storing ---------------------------------------------------------------------------------------------------------------- */

static void store(gg_capture_job *job, const gg_cache_key *key) {
    gg_cache_store(key, job->found, job->reads, job->started_ns);
}

static void on_store(uv_work_t *work) {
    with_key(work->data, store);
}

static void on_stored(uv_work_t *work, int status) {
    (void)status;
    free_job(work->data);
}

/* A result that another run might not give again is not kept. */
static bool lasting(const json_t *entry) {
    static const char *const statuses[] = {"captured", "breaks", "nothing_to_capture", "no_inputs"};
    const char *status = json_string_value(json_object_get(entry, "status"));
    for (size_t i = 0; status && i < GG_COUNT(statuses); i++)
        if (strcmp(status, statuses[i]) == 0) return true;
    return false;
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    gg_capture_job *job = data;
    const json_t *entry = json_object_get(frame, "entry");
    if (strcmp(op, "entry") == 0 && job->store) {
        job->storable = job->storable && lasting(entry);
        json_array_append_new(job->entries, json_deep_copy(entry)); /* values are not shared between threads */
    }
    bool done = strcmp(op, "done") == 0;
    if (done && job->store) {
        const char *status = json_string_value(json_object_get(frame, "status"));
        const gg_worker_info *info = gg_worker_get_info(job->worker);
        job->storable = job->storable && status && strcmp(status, "ok") == 0 && info->torch && info->registry_path;
        job->reads = json_deep_copy(json_object_get(frame, "reads"));
        if (job->storable)
            job->found = json_pack("{s:s, s:s, s:s, s:O}", "torch", info->torch, "python", info->python_version,
                                   "registry", info->registry_path, "entries", job->entries);
    }
    job->options.on_frame(job->options.data, op, frame);
    if (!done) return;
    if (job->found == NULL || uv_queue_work(job->options.loop, &job->work, on_store, on_stored) != 0) free_job(job);
}

/* ---- looking ---------------------------------------------------------------------------------------------------------------- */

static void run(gg_capture_job *job) {
    const char *why = "no worker";
    struct timespec now;
    job->worker = job->options.worker(job->options.data, &why);
    if (job->worker == NULL) {
        tell_done(job, "crashed", why);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    job->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    job->id = gg_worker_submit(job->worker, json_copy(job->request), on_frame, job);
    if (job->id == 0) tell_done(job, "canceled", NULL); /* it is being closed */
}

static void find(gg_capture_job *job, const gg_cache_key *key) {
    job->found = gg_cache_find(key);
}

static void on_look(uv_work_t *work) {
    gg_capture_job *job = work->data;
    if (job->store && !job->options.fresh) with_key(job, find);
}

static void on_looked(uv_work_t *work, int status) {
    gg_capture_job *job = work->data;
    (void)status;
    if (job->canceled) {
        tell_done(job, "canceled", NULL);
    } else if (job->found) {
        size_t index;
        json_t *entry;
        tell(job, "stored", json_incref(job->found));
        json_array_foreach(json_object_get(job->found, "entries"), index, entry)
            tell(job, "entry", json_pack("{s:s, s:O}", "op", "entry", "entry", entry));
        tell_done(job, "ok", NULL);
    } else {
        run(job);
    }
}

gg_capture_job *gg_capture_job_start(const gg_capture_job_options *options, const gg_capture_request *request) {
    gg_capture_job *job = gg_calloc(1, sizeof(gg_capture_job));
    job->options = *options;
    job->request = gg_capture_request_encode(request);
    job->python = gg_str_dup(gg_str_from(options->python));
    job->support = options->store ? gg_support_folder("graphglue_worker") : NULL;
    if (job->support && request->entry_count == 0) job->store = gg_str_dup(gg_str_from(options->store));
    job->entries = json_array();
    job->storable = true;
    job->work.data = job;
    const json_t *overlay = json_object_get(job->request, "overlay");
    size_t index;
    json_t *file;
    job->overlay = gg_calloc(json_array_size(overlay), sizeof(gg_overlay_file));
    json_array_foreach(overlay, index, file) {
        const json_t *text = json_object_get(file, "text");
        job->overlay[job->overlay_count++] =
            (gg_overlay_file){gg_str_from(json_string_value(json_object_get(file, "file"))),
                              {json_string_value(text), json_string_length(text)}};
    }
    uv_queue_work(options->loop, &job->work, on_look, on_looked);
    return job;
}

bool gg_capture_place(const json_t *done, const gg_text *text, gg_span *out) {
    const json_t *place = json_object_get(done, "place"), *col = json_object_get(place, "col"),
                 *end_col = json_object_get(place, "end_col");
    json_int_t line = json_integer_value(json_object_get(place, "line"));
    if (text == NULL || line < 1 || line > (json_int_t)gg_text_line_count(text)) return false;
    bool one_line = json_integer_value(json_object_get(place, "end_line")) == line;
    uint32_t start = gg_text_line_start(text, (uint32_t)line - 1);
    gg_str content = gg_text_line(text, (uint32_t)line - 1), body = gg_str_trim(content);
    size_t first = body.len ? (size_t)(body.ptr - content.ptr) : 0, last = first + body.len;
    if (json_is_integer(col) && json_integer_value(col) >= 0) first = (size_t)json_integer_value(col);
    if (first > content.len) first = content.len;
    if (one_line && json_is_integer(end_col) && json_integer_value(end_col) > (json_int_t)first)
        last = (size_t)json_integer_value(end_col);
    if (last > content.len) last = content.len;
    *out = (gg_span){start + (uint32_t)first, start + (uint32_t)(last > first ? last : first)};
    return true;
}

void gg_capture_job_cancel(gg_capture_job *job) {
    job->canceled = true;
    if (job->worker) gg_worker_cancel(job->worker, job->id);
}
