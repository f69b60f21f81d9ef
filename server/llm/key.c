/* See key.h. */
#include "server/llm/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/child.h"

enum { MAX_KEY = 8192, DEADLINE_MS = 30000, SHORTEST = 5 };

struct gg_key_reading {
    const gg_endpoint *endpoint;
    gg_key_done done;
    void *data;
    uv_timer_t timer; /* of a program: its deadline; else the later turn */
    uv_pipe_t output;
    gg_child *child;
    gg_child_end end;
    bool ended, told, has_output, timed_out;
    int open; /* handles and the child */
    char key[MAX_KEY + 1];
    size_t length;
};

void gg_key_source(char *out, size_t size, const gg_endpoint *endpoint) {
    if (endpoint->key_command.len)
        snprintf(out, size, "the program %s", endpoint->key_command.items[0]);
    else if (endpoint->key_env)
        snprintf(out, size, "the variable %s", endpoint->key_env);
    else
        snprintf(out, size, "no key");
}

void gg_key_redact(char *text, const char *key) {
    static const char mark[] = "[key]";
    size_t n = key ? strlen(key) : 0;
    if (n < SHORTEST) return; /* such would be found everywhere, and are no secret */
    for (char *at = text; (at = strstr(at, key)) != NULL; at += sizeof(mark) - 1) {
        memcpy(at, mark, sizeof(mark) - 1);
        memmove(at + sizeof(mark) - 1, at + n, strlen(at + n) + 1);
    }
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

static void release(gg_key_reading *r) {
    if (--r->open > 0) return;
    explicit_bzero(r, sizeof(*r));
    gg_free(r);
}

static void on_closed(uv_handle_t *handle) {
    release(handle->data);
}

static void on_child_closed(void *data) {
    gg_key_reading *r = data;
    r->child = NULL;
    release(r);
}

static void close_handles(gg_key_reading *r) {
    if (!uv_is_closing((uv_handle_t *)&r->timer)) uv_close((uv_handle_t *)&r->timer, on_closed);
    if (r->has_output && !uv_is_closing((uv_handle_t *)&r->output)) uv_close((uv_handle_t *)&r->output, on_closed);
}

static void tell(gg_key_reading *r, char *key, const gg_error *err) {
    if (r->told) return;
    r->told = true;
    r->done(r->data, key, err);
    explicit_bzero(r->key, sizeof(r->key));
    close_handles(r);
}

/* White space around it goes; what is left must be one word, since it becomes part of a header. */
static int check(gg_key_reading *r, char **key, const char *whose, gg_error *err) {
    r->key[r->length] = '\0';
    char *start = r->key + strspn(r->key, " \t\r\n");
    size_t n = strlen(start);
    while (n && strchr(" \t\r\n", start[n - 1])) n--;
    start[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (start[i] <= ' ' || start[i] > '~')
            return gg_fail(err, GG_EPARAMS, "%s holds no key: it is more than one word", whose);
    if (n == 0) return gg_fail(err, GG_ENOTFOUND, "%s holds no key: it is empty", whose);
    *key = start;
    return 0;
}

static void tell_checked(gg_key_reading *r) {
    char whose[300], *key = NULL;
    gg_error err = {0};
    gg_key_source(whose, sizeof(whose), r->endpoint);
    int error = check(r, &key, whose, &err);
    tell(r, error ? NULL : key, &err);
}

/* ---- a variable ------------------------------------------------------------------------------------------------------------ */

static void on_turn(uv_timer_t *timer) {
    gg_key_reading *r = timer->data;
    const char *name = r->endpoint->key_env, *value = name ? getenv(name) : NULL;
    gg_error err = {0};
    if (value && *value) {
        r->length = strnlen(value, MAX_KEY);
        memcpy(r->key, value, r->length);
        tell_checked(r);
    } else if (name && r->endpoint->key_asked) {
        gg_fail(&err, GG_ENOTFOUND, "the key is missing: the variable %s (model.keyEnv) is not set", name);
        tell(r, NULL, &err);
    } else {
        tell(r, r->key, &err); /* many a local server wants none */
    }
}

/* ---- a program ------------------------------------------------------------------------------------------------------------- */

static void finish_program(gg_key_reading *r) {
    if (r->told) return; /* the endpoint may be gone */
    const char *program = r->endpoint->key_command.items[0];
    gg_error err = {0};
    if (r->timed_out)
        gg_fail(&err, GG_ETIMEOUT, "model.keyCommand: %s did not print a key in %d s", program, DEADLINE_MS / 1000);
    else if (r->end.error)
        gg_fail(&err, GG_EIO, "model.keyCommand: %s could not be started: %s", program, uv_strerror(r->end.error));
    else if (r->end.exit_signal || r->end.exit_status)
        gg_fail(&err, GG_EIO, "model.keyCommand: %s failed (%s %d)", program,
                r->end.exit_signal ? "signal" : "exit status",
                r->end.exit_signal ? r->end.exit_signal : r->end.exit_status);
    if (err.code)
        tell(r, NULL, &err);
    else
        tell_checked(r);
}

static void on_end(void *data, const gg_child_end *end) {
    gg_key_reading *r = data;
    r->end = *end;
    r->ended = true;
    if (!r->has_output || uv_is_closing((uv_handle_t *)&r->output)) finish_program(r);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    gg_key_reading *r = handle->data;
    (void)suggested;
    *buf = uv_buf_init(r->key + r->length, (unsigned)(MAX_KEY - r->length));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    gg_key_reading *r = stream->data;
    (void)buf;
    if (count > 0) r->length += (size_t)count;
    if (count == 0 || (count > 0 && r->length < MAX_KEY)) return;
    uv_close((uv_handle_t *)stream, on_closed); /* it is all, or far too much for a key */
    if (r->ended) finish_program(r);
}

static void on_deadline(uv_timer_t *timer) {
    gg_key_reading *r = timer->data;
    r->timed_out = r->child != NULL; /* else it never began */
    if (r->child) gg_child_kill(r->child);
    finish_program(r);
}

static void start_program(gg_key_reading *r, uv_loop_t *loop) {
    int ends[2] = {-1, -1};
    gg_words words = r->endpoint->key_command;
    char **args = gg_calloc(words.len + 1, sizeof(char *));
    for (size_t i = 0; i < words.len; i++) args[i] = words.items[i];
    gg_child_options options = {.program = args[0],
                                .args = args,
                                .fds = {-1, -1, -1, -1},
                                .fd_count = 3,
                                .data = r,
                                .on_end = on_end,
                                .on_closed = on_child_closed};
    r->end.error = UV_EMFILE;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        options.fds[1] = ends[1];
        uv_pipe_init(loop, &r->output, 0);
        r->output.data = r;
        r->has_output = true;
        r->open++;
        uv_pipe_open(&r->output, ends[0]);
        uv_read_start((uv_stream_t *)&r->output, on_alloc, on_read);
        r->child = gg_child_start(loop, &options, NULL);
        if (r->child) r->open++;
        close(ends[1]);
    }
    gg_free(args);
    uv_timer_start(&r->timer, on_deadline, r->child ? DEADLINE_MS : 0, 0);
}

/* ---- life ------------------------------------------------------------------------------------------------------------------- */

gg_key_reading *gg_key_read(uv_loop_t *loop, const gg_endpoint *endpoint, gg_key_done done, void *data) {
    gg_key_reading *r = gg_calloc(1, sizeof(gg_key_reading));
    r->endpoint = endpoint;
    r->done = done;
    r->data = data;
    r->open = 1;
    uv_timer_init(loop, &r->timer);
    r->timer.data = r;
    if (endpoint->key_command.len)
        start_program(r, loop);
    else
        uv_timer_start(&r->timer, on_turn, 0, 0);
    return r;
}

void gg_key_cancel(gg_key_reading *r) {
    if (r->told) return;
    r->told = true;
    if (r->child) gg_child_kill(r->child);
    close_handles(r);
}
