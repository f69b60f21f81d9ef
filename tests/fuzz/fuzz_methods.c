/* links: gg_server */
/* The whole server, spoken to as an editor does: whatever the parameters of whatever methods, in whatever order, and whatever the worker and the editor
 * answer, it lives, comes to rest, answers each request once and no more, and leaves clean.
 *
 * Input: lines.  `METHOD PARAMS` is a request or a notification; `reply {…}` answers the oldest question of the server ({"error": …}, else the result);
 * `worker {…}` is a frame of the worker: those up to the first `done` belong to the first job, and so on, and {"op": "dies"} is its end; `raw …` is a body as
 * it stands; `sync` waits until all is quiet.  `initialize` comes first whether it is there or not.  Request n, from 0, has the id "n".
 *
 * DESIGN  The server runs on this thread, on descriptors 0 and 1; the editor is a thread at the other end.  The worker's process is replaced by functions
 * that are linked in its place (tests/CMakeLists.txt), so that no program is ever started. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/child.h"
#include "server/session.h"
#include "server/worker_process.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FOLDER "/tmp/graphglue-fuzz"
#define ROOT   "file://" FOLDER
enum { MAX_INPUT_BYTES = 16 * 1024, MAX_LINES = 128, REST_MS = 20000, PATIENCE_MS = 30 };

/* ---- the worker ------------------------------------------------------------------------------------------------------------- */

/* Loop thread.  `told` is what it will say, in order. */
static json_t *told;
static size_t told_at;

struct gg_worker_process {
    gg_worker_process_options options;
    uv_idle_t idle;
    json_t *jobs; /* ids of those that were written */
    bool is_ready, options_seen, ended;
};

static json_t *next_told(void) {
    return told_at < json_array_size(told) ? json_array_get(told, told_at++) : NULL;
}

static void say(gg_worker_process *p, json_t *frame_take) {
    gg_buf bytes;
    json_t *frame = NULL;
    gg_buf_init(&bytes, GG_MAX_WORKER_FRAME_BYTES + 4);
    CHECK(gg_worker_frame_write(&bytes, frame_take, NULL) == 0);
    CHECK(gg_worker_frame_next(&bytes, &frame, NULL) == 1);
    p->options.on_frame(p->options.data, frame);
    json_decref(frame);
    json_decref(frame_take);
    gg_buf_clear(&bytes);
}

static void be_ready(gg_worker_process *p) {
    p->is_ready = true;
    say(p, json_pack("{s:s, s:i, s:s, s:s, s:s}", "op", "hello", "protocol", 1, "version", "3.11.7", "interpreter",
                     "/usr/bin/python3", "mode", "embedded"));
    say(p, json_pack("{s:s, s:s}", "op", "ready", "torch", "2.13.0"));
}

/* One frame a turn, of the first job; a job that nothing is left for is done. */
static void on_idle(uv_idle_t *idle) {
    gg_worker_process *p = idle->data;
    const json_t *job = json_array_get(p->jobs, 0);
    if (!p->is_ready) {
        be_ready(p);
        return;
    }
    if (job == NULL) {
        uv_idle_stop(idle);
        return;
    }
    json_t *frame = json_deep_copy(next_told());
    if (frame == NULL) frame = json_pack("{s:s, s:s}", "op", "done", "status", "ok");
    const char *op = json_string_value(json_object_get(frame, "op"));
    if (op && strcmp(op, "dies") == 0) {
        json_decref(frame);
        uv_idle_stop(idle);
        p->options.on_lost(p->options.data, "the worker was killed by signal 9", false);
        return;
    }
    bool done = op && strcmp(op, "done") == 0;
    if (json_object_get(frame, "id") == NULL) json_object_set(frame, "id", json_array_get(p->jobs, 0));
    if (done) { /* of this job, whatever it says */
        json_object_set(frame, "id", json_array_get(p->jobs, 0));
        json_array_remove(p->jobs, 0);
    }
    say(p, frame); /* p may be on its way out now */
}

gg_worker_process *__wrap_gg_worker_process_start(uv_loop_t *loop, const gg_worker_process_options *options,
                                                  gg_error *err);
gg_worker_process *__wrap_gg_worker_process_start(uv_loop_t *loop, const gg_worker_process_options *options,
                                                  gg_error *err) {
    gg_worker_process *p = gg_calloc(1, sizeof(gg_worker_process));
    (void)err;
    p->options = *options;
    p->jobs = json_array();
    uv_idle_init(loop, &p->idle);
    p->idle.data = p;
    uv_idle_start(&p->idle, on_idle);
    return p;
}

void __wrap_gg_worker_process_write(gg_worker_process *p, gg_buf *frame);
void __wrap_gg_worker_process_write(gg_worker_process *p, gg_buf *frame) {
    json_t *request = NULL;
    if (p->options.stdio && !p->options_seen) { /* words, not JSON */
        p->options_seen = true;
        gg_buf_clear(frame);
        return;
    }
    CHECK(gg_worker_frame_next(frame, &request, NULL) == 1 && frame->len == 0);
    const char *op = json_string_value(json_object_get(request, "op"));
    CHECK(op != NULL);
    if (strcmp(op, "cancel") != 0) {
        CHECK(json_is_integer(json_object_get(request, "id")));
        json_array_append(p->jobs, json_object_get(request, "id"));
        uv_idle_start(&p->idle, on_idle);
    }
    json_decref(request);
    gg_buf_clear(frame);
}

static void on_idle_closed(uv_handle_t *handle) {
    gg_worker_process *p = handle->data;
    p->options.on_closed(p->options.data);
    json_decref(p->jobs);
    gg_free(p);
}

void __wrap_gg_worker_process_end(gg_worker_process *p);
void __wrap_gg_worker_process_end(gg_worker_process *p) {
    CHECK(!p->ended);
    p->ended = true;
    uv_close((uv_handle_t *)&p->idle, on_idle_closed);
}

void __wrap_gg_worker_process_words(const gg_worker_process *p, char *out, size_t size);
void __wrap_gg_worker_process_words(const gg_worker_process *p, char *out, size_t size) {
    (void)p;
    if (size) out[0] = '\0';
}

gg_child *__wrap_gg_child_start(uv_loop_t *loop, const gg_child_options *options, gg_error *err);
gg_child *__wrap_gg_child_start(uv_loop_t *loop, const gg_child_options *options, gg_error *err) {
    (void)loop;
    (void)options;
    (void)gg_fail(err, GG_EFAILED, "no program is started here");
    return NULL;
}

_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status) {
    fprintf(stderr, "the server left with work unfinished, status %d\n", status);
    abort();
}

/* ---- what is said to it ----------------------------------------------------------------------------------------------------- */

typedef struct message {
    enum { SEND, REPLY, SYNC } kind;
    char *body;    /* of SEND */
    json_t *value; /* of REPLY */
} message;

typedef struct editor {
    int fd;
    message messages[MAX_LINES + 4];
    size_t message_count;
    size_t requests; /* "asked 0" … have been */
    unsigned answers[MAX_LINES + 8];
    json_t *questions; /* ids of the server's requests that wait */
    size_t syncs, synced;
    bool ended;
    gg_frame_reader *reader;
} editor;

/* Folders and files where nothing else lies; no endpoint but one that refuses at once; no process to look after. */
static void confine(json_t *value) {
    static const char *const folders[] = {"rootUri", "rootPath", "uri"};
    const char *key;
    json_t *item;
    void *next;
    size_t i;
    json_object_foreach_safe(value, next, key, item) {
        const char *text = json_string_value(item);
        bool names = false;
        for (size_t j = 0; j < GG_COUNT(folders); j++) names = names || strcmp(key, folders[j]) == 0;
        if (names && text && strncmp(text, ROOT, sizeof(ROOT) - 1) != 0)
            json_object_set_new(value, key, json_string(ROOT));
        else if (strcmp(key, "endpoint") == 0)
            json_object_set_new(value, key, json_string("http://127.0.0.1:9"));
        else if (strcmp(key, "processId") == 0)
            json_object_set_new(value, key, json_null());
        else
            confine(item);
    }
    json_array_foreach(value, i, item) confine(item);
}

static char *body_of(const char *method, json_t *params_take, const char *id) {
    json_t *m = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
    if (id) json_object_set_new(m, "id", json_string(id));
    if (params_take) json_object_set_new(m, "params", params_take);
    char *body = json_dumps(m, JSON_COMPACT);
    json_decref(m);
    return body;
}

static void push(editor *e, message m) {
    e->messages[e->message_count++] = m;
}

static void ask(editor *e, const char *method, json_t *params_take, bool request) {
    char id[24];
    snprintf(id, sizeof(id), "asked %zu", e->requests);
    push(e, (message){.kind = SEND, .body = body_of(method, params_take, request ? id : NULL)});
    if (request) e->requests++;
}

static json_t *default_params(void) {
    return json_pack("{s:n, s:s, s:{}, s:{s:b, s:s}}", "processId", "rootUri", ROOT, "capabilities",
                     "initializationOptions", "trusted", true, "run", "onSave");
}

static void read_line(editor *e, gg_str line) {
    size_t space = gg_str_find(line, GG_STR(" "), 0);
    gg_str name = gg_str_slice(line, 0, space),
           rest = gg_str_slice(line, space == SIZE_MAX ? line.len : space + 1, line.len);
    if (name.len == 0 || name.len > 100 || gg_utf8_valid_prefix(name) != name.len || memchr(name.ptr, 0, name.len))
        return;
    json_t *value = json_loadb(rest.ptr, rest.len, JSON_DECODE_ANY, NULL);
    char method[128];
    snprintf(method, sizeof(method), "%.*s", GG_STR_ARG(name));
    bool begins = strcmp(method, "initialize") == 0;
    const gg_method *known = gg_method_find(name);
    if (begins || strcmp(method, "workspace/didChangeWorkspaceFolders") == 0 ||
        strcmp(method, "workspace/didChangeConfiguration") == 0 || strcmp(method, "reply") == 0)
        confine(value);
    if (e->requests == 0 && !begins) ask(e, "initialize", default_params(), true);
    if (strcmp(method, "sync") == 0) {
        push(e, (message){.kind = SYNC});
    } else if (strcmp(method, "reply") == 0) {
        push(e, (message){.kind = REPLY, .value = value ? json_incref(value) : json_null()});
    } else if (strcmp(method, "worker") == 0) {
        if (json_is_object(value)) json_array_append(told, value);
    } else if (strcmp(method, "raw") == 0) {
        push(e, (message){.kind = SEND, .body = gg_str_dup(rest)}); /* up to its first NUL */
    } else if (strcmp(method, "exit") != 0 && strcmp(method, "gg/sync") != 0) {
        ask(e, method, json_incref(value), known == NULL || known->kind == GG_REQUEST);
    }
    json_decref(value);
}

/* ---- the editor's thread ---------------------------------------------------------------------------------------------------- */

static void note(editor *e, gg_str body) {
    json_t *m = json_loadb(body.ptr, body.len, JSON_ALLOW_NUL, NULL);
    const json_t *id = json_object_get(m, "id");
    const char *text = json_string_value(id);
    CHECK(json_is_object(m)); /* also: valid UTF-8 */
    if (json_object_get(m, "method")) {
        if (id) json_array_append(e->questions, json_object_get(m, "id"));
    } else if (text && text[0] == 's') {
        e->synced++;
    } else if (text &&
               gg_str_starts_with(gg_str_from(text), GG_STR("asked "))) { /* the ids of a raw message are its own */
        size_t n = strtoul(text + GG_STR("asked ").len, NULL, 10);
        CHECK(n < e->requests && ++e->answers[n] == 1);
    }
    json_decref(m);
}

/* Reads what has come, waiting a while for it; false: nothing came. */
static bool listen_to(editor *e, int wait_ms) {
    static char block[65536];
    struct pollfd p = {.fd = e->fd, .events = POLLIN};
    if (e->ended || poll(&p, 1, wait_ms) != 1) return false;
    ssize_t n = read(e->fd, block, sizeof(block));
    if (n <= 0) {
        e->ended = true;
        return false;
    }
    gg_str body;
    CHECK(gg_frame_reader_push(e->reader, (gg_str){block, (size_t)n}, NULL) == 0);
    int got;
    while ((got = gg_frame_reader_next(e->reader, &body, NULL)) > 0) note(e, body);
    CHECK(got == 0);
    return true;
}

static void send_body(editor *e, const char *body) {
    char head[64];
    size_t left = strlen(body), n = (size_t)snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", left);
    (void)!send(e->fd, head, n, MSG_NOSIGNAL);
    for (ssize_t sent = 1; left > 0 && sent > 0; body += sent, left -= (size_t)sent)
        sent = send(e->fd, body, left, MSG_NOSIGNAL);
    while (listen_to(e, 0)) {}
}

static void reply(editor *e, json_t *value) {
    if (json_array_size(e->questions) == 0) return;
    json_t *error = json_object_get(value, "error");
    json_t *m = json_pack("{s:s, s:O, s:O}", "jsonrpc", "2.0", "id", json_array_get(e->questions, 0),
                          error ? "error" : "result", error ? error : value);
    char *body = json_dumps(m, JSON_COMPACT);
    json_array_remove(e->questions, 0);
    send_body(e, body);
    free(body);
    json_decref(m);
}

static void rest(editor *e) {
    char id[24];
    int waited_ms = 0;
    snprintf(id, sizeof(id), "s%zu", e->syncs++);
    char *body = body_of("gg/sync", NULL, id);
    send_body(e, body);
    free(body);
    while (!e->ended && e->synced < e->syncs) {
        if (listen_to(e, PATIENCE_MS)) continue;
        waited_ms += PATIENCE_MS;
        CHECK(waited_ms < REST_MS);
        json_t *nothing = json_null();
        reply(e, nothing);
    }
}

static void *talk(void *data) {
    editor *e = data;
    for (size_t i = 0; i < e->message_count; i++) {
        const message *m = &e->messages[i];
        if (m->kind == SEND) send_body(e, m->body);
        if (m->kind == REPLY) reply(e, m->value);
        if (m->kind == SYNC) rest(e);
    }
    while (!e->ended) (void)listen_to(e, REST_MS);
    return NULL;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------ */

static void prepare(void) {
    static bool done;
    if (done) return;
    done = true;
    gg_log_set_level((gg_log_level)0);
    setenv("GRAPHGLUE_WORKER", "/nowhere/graphglue-worker", 1);
    mkdir(FOLDER, 0777);
    static const char *const files[] = {FOLDER "/.graphglue",
                                        FOLDER "/other.py"}; /* the first: nothing can be stored */
    for (size_t i = 0; i < GG_COUNT(files); i++) {
        FILE *file = fopen(files[i], "w");
        CHECK(file && fputs("import torch\n\n\n@torch.compile\ndef g(x):\n    print(x)\n    return x\n", file) >= 0);
        fclose(file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static editor e;
    int pair[2];
    pthread_t thread;
    gg_str all = {(const char *)data, size};
    if (size > MAX_INPUT_BYTES) return 0;
    prepare();
    e = (editor){.questions = json_array(), .reader = gg_frame_reader_new(SIZE_MAX / 2)};
    told = json_array();
    told_at = 0;
    for (size_t at = 0, end, count = 0; at < size && count < MAX_LINES; at = end + 1, count++) {
        end = gg_str_find(all, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = size;
        read_line(&e, gg_str_slice(all, at, end));
    }
    if (e.requests == 0) ask(&e, "initialize", default_params(), true);
    ask(&e, "shutdown", NULL, true);
    ask(&e, "exit", NULL, false);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(dup2(pair[1], STDIN_FILENO) == STDIN_FILENO && dup2(pair[1], STDOUT_FILENO) == STDOUT_FILENO);
    close(pair[1]);
    e.fd = pair[0];
    CHECK(pthread_create(&thread, NULL, talk, &e) == 0);
    const gg_server_settings settings = {.test = true};
    int status = gg_server_run(&settings);
    int nothing = open("/dev/null", O_RDWR); /* libuv leaves the standard descriptors open */
    CHECK(dup2(nothing, STDIN_FILENO) == STDIN_FILENO && dup2(nothing, STDOUT_FILENO) == STDOUT_FILENO);
    close(nothing);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(status == 0 || status == 1);
    for (size_t i = 0; i < e.requests; i++) CHECK(e.answers[i] == 1);
    close(pair[0]);
    for (size_t i = 0; i < e.message_count; i++) {
        free(e.messages[i].body);
        json_decref(e.messages[i].value);
    }
    json_decref(e.questions);
    json_decref(told);
    gg_frame_reader_free(e.reader);
    return 0;
}
