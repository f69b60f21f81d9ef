/* The session's life: loop, settings, capabilities, shutdown.  Loop thread only.
 *
 * Exit: stop reading → cancel captures and calls → end the workers → wait for jobs (they hold snapshots), for a bounded time → close every
 * handle → the loop must close empty. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "server/llm/model.h"
#include "server/session.h"
#include "server/workspace_scan.h"

enum { PARENT_CHECK_MS = 1000, LEAVE_DEADLINE_MS = 3000 };

/* ---- capabilities and settings --------------------------------------------------------------------------------------------- */

static const json_t *at_path(const json_t *json, const char *path) {
    char key[64];
    for (const char *dot; json && path; path = dot ? dot + 1 : NULL) {
        dot = strchr(path, '.');
        snprintf(key, sizeof(key), "%.*s", (int)(dot ? dot - path : (ptrdiff_t)strlen(path)), path);
        json = json_object_get(json, key);
    }
    return json;
}

static bool holds(const json_t *array, const char *value) {
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item) {
        if (json_is_string(item) && strcmp(json_string_value(item), value) == 0) return true;
    }
    return false;
}

void gg_session_read_caps(gg_session *session, const json_t *capabilities) {
    enum { BOOL, PRESENT, HAS };
    static const struct {
        const char *path;
        int kind;
        const char *value;
    } rows[] = {
#define CAP(name, path, kind, value) {path, kind, value},
#include "server/caps.def"
#undef CAP
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        const json_t *found = at_path(capabilities, rows[i].path);
        bool set = rows[i].kind == BOOL      ? json_is_true(found)
                   : rows[i].kind == PRESENT ? json_is_object(found)
                                             : holds(found, rows[i].value);
        if (set) session->caps |= 1u << i;
    }
    session->encoding = GG_HAS(session, UTF8) ? GG_UTF8 : GG_UTF16;
    session->pulls =
        GG_HAS(session, PULL) && GG_HAS(session, PULL_REFRESH); /* else what a capture finds would not be asked for */
}

/* Another interpreter, or another machine: what runs in the old one is given up and begun anew. */
void gg_session_restart_workers(gg_session *session) {
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        bool again = d->capture != NULL || d->capture_turn || d->findings != NULL;
        gg_capture_cancel(d);
        d->capture_turn = again ? GG_CAPTURE_TO_LOOK : GG_CAPTURE_NOT_WAITING;
    }
    gg_workspaces_restart(session);
    gg_captures_next(session);
}

/* True when the worker is another one now.  The keys are merged one by one into what was said before. */
static bool read_worker(gg_session *session, const json_t *given) {
    gg_settings *s = &session->settings;
    gg_remote remote;
    gg_error err = {0};
    if (given == NULL || json_is_null(given)) return false;
    json_t *merged = s->worker ? json_copy(s->worker) : json_object(), *value;
    const char *key;
    if (!json_is_object(given)) gg_show_message(session, 2, "graphglue: the setting graphglue.worker wants an object");
    json_object_foreach((json_t *)given, key, value) if (!json_is_null(value)) json_object_set(merged, key, value);
    bool changed = !json_equal(merged, s->worker);
    if (changed && gg_remote_read(&remote, merged, &err) != 0) {
        gg_show_message(session, 2, "graphglue: the setting graphglue.%s; it is left as it was", err.message);
        changed = false;
    }
    if (changed) {
        gg_remote_clear(&s->remote);
        s->remote = remote;
        json_decref(s->worker);
        s->worker = json_incref(merged);
    }
    json_decref(merged);
    return changed;
}

int gg_session_check_trust(const gg_session *session, gg_error *err) {
    if (session->settings.trusted) return 0;
    return gg_fail(err, GG_EFAILED, "the workspace is not trusted, and nothing of it is run. To allow it, %s",
                   session->settings.trust_help);
}

/* A key that is absent or null leaves its setting as it is.  Trust is none of them: a workspace may carry settings, and must not be able to
 * allow itself to be run. */
void gg_session_settings(gg_session *session, const json_t *settings) {
    gg_settings *s = &session->settings;
    gg_words problems = {0};
    gg_settings_read(s->values, settings, false, &problems);
    for (size_t i = 0; i < problems.len; i++)
        gg_show_message(session, 2, "graphglue: the setting graphglue.%s; it is left as it was", problems.items[i]);
    gg_words_clear(&problems);
    if (read_worker(session, json_object_get(settings, "worker"))) gg_session_restart_workers(session);
    gg_folders_rebuild(session);
}

static void warm(gg_session *session) {
    if (!session->settings.trusted || session->settings.options->run == GG_RUN_MANUAL) return;
    for (size_t i = 0; i < session->workspaces.len; i++) {
        gg_worker *worker = gg_workspace_worker(session->workspaces.items[i]);
        if (worker) gg_worker_start(worker);
    }
}

void gg_settings_came(gg_session *session) {
    if (session->asking) return;
    if (session->warm) warm(session);
    session->warm = false;
    gg_captures_next(session);
}

static void on_settings(void *data, const json_t *result, const json_t *error) {
    gg_session *session = data;
    session->asking--;
    if (session->state != GG_STATE_INITIALIZED) return;
    if (error == NULL) gg_session_settings(session, json_array_get(result, 0));
    gg_settings_came(session);
}

void gg_session_ask_settings(gg_session *session) {
    if (!GG_HAS(session, CONFIGURATION)) return;
    session->asking++;
    gg_request_take(session, "workspace/configuration", json_pack("{s:[{s:s}]}", "items", "section", "graphglue"),
                    on_settings, session);
}

/* ---- loop --------------------------------------------------------------------------------------------------------------------- */

bool gg_session_quiet(const gg_session *session) {
    return session->asking == 0 && session->jobs == 0 && session->captures == 0 && session->glues == 0 &&
           session->writings == 0 && session->askings.len == 0 && !uv_is_active((const uv_handle_t *)&session->flush);
}

static void on_flush(uv_timer_t *timer) {
    gg_predictions_update(timer->data);
    gg_publish_dirty(timer->data);
}

static void on_turn(uv_prepare_t *prepare) {
    gg_session *session = prepare->data;
    gg_watchdog_turn(session);
    while (session->syncs.len && gg_session_quiet(session)) {
        gg_call *call = session->syncs.items[0];
        gg_list_remove(&session->syncs, 0);
        gg_call_reply_take(call, json_null());
    }
}

static void on_parent_check(uv_timer_t *timer) {
    gg_session *session = timer->data;
    bool client_gone = session->client_pid > 0 && kill(session->client_pid, 0) != 0 && errno == ESRCH;
    if (client_gone || getppid() != session->parent_pid) {
        gg_log(GG_LOG_INFO, "the parent process has gone");
        gg_session_exit(session, session->state == GG_STATE_SHUTDOWN ? 0 : 1);
    }
}

static void on_signal(uv_signal_t *handle, int number) {
    gg_session *session = handle->data;
    gg_log(GG_LOG_INFO, "leaving on signal %d", number);
    gg_session_exit(session, session->state == GG_STATE_SHUTDOWN ? 0 : 1);
}

/* The workers are process groups of their own: a signal that ends the server must end them too. */
static void watch_signals(gg_session *session) {
    static const int numbers[GG_LEAVE_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < GG_COUNT(numbers); i++) {
        uv_signal_t *handle = &session->signals[i];
        struct sigaction now;
        uv_signal_init(&session->loop, handle);
        handle->data = session;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* nohup */
            uv_signal_start(handle, on_signal, numbers[i]);
    }
}

static void close_all(gg_session *session) {
    uv_handle_t *handles[] = {(uv_handle_t *)&session->flush,      (uv_handle_t *)&session->parent_watch,
                              (uv_handle_t *)&session->prepare,    (uv_handle_t *)&session->signals[0],
                              (uv_handle_t *)&session->signals[1], (uv_handle_t *)&session->signals[2]};
    for (size_t i = 0; i < GG_COUNT(handles); i++)
        if (!uv_is_closing(handles[i])) uv_close(handles[i], NULL);
}

/* Called again and again until nothing is left that needs the loop.  A thread cannot be ended, so one that does not come back in time
 * (a file system that hangs) is left behind with the process: the workers are dead by then. */
static void on_leave(uv_timer_t *timer) {
    gg_session *session = timer->data;
    if (uv_now(&session->loop) - session->left_at_ms >= LEAVE_DEADLINE_MS) {
        gg_log(GG_LOG_WARNING, "left with work unfinished: %u jobs, %u captures", session->jobs, session->captures);
        _exit(session->exit_status);
    }
    if (session->jobs || session->captures || session->glues || session->writings || session->closing_workers ||
        session->askings.len)
        return;
    gg_http_free(session->http);
    session->http = NULL;
    close_all(session);
    uv_unref((uv_handle_t *)timer); /* it still fires while something else keeps the loop alive */
}

void gg_session_exit(gg_session *session, int status) {
    if (session->state == GG_STATE_EXITING) return;
    session->state = GG_STATE_EXITING;
    session->exit_status = status;
    session->left_at_ms = uv_now(&session->loop);
    session->syncs.len = 0;
    while (session->documents.len) gg_document_close(session->documents.items[0]);
    while (session->calls.len) {
        gg_call *call = session->calls.items[0];
        if (call->on_cancel) call->on_cancel(call);
        gg_call_fail(call, GG_ESERVERCANCELED, "the server is leaving");
    }
    gg_workspaces_restart(session); /* ends the workers */
    gg_model_cancel_all(session);
    gg_outgoing_end(session);
    gg_progress_close_all(session);
    gg_transport_close(session->transport);
    session->transport = NULL;
    uv_timer_start(&session->leave, on_leave, 0, 10);
}

static void release(gg_session *session) {
    for (size_t i = 0; i < session->workspaces.len; i++) gg_workspace_free(session->workspaces.items[i]);
    gg_list_clear(&session->workspaces);
    gg_list_clear(&session->documents);
    gg_list_clear(&session->calls);
    gg_list_clear(&session->pulled);
    gg_list_clear(&session->diagnostics);
    gg_list_clear(&session->sent);
    free(session->found_json);
    gg_buf_clear(&session->wires);
    gg_list_clear(&session->syncs);
    gg_list_clear(&session->outgoing);
    gg_list_clear(&session->progresses);
    gg_list_clear(&session->askings);
    gg_free(session->repair_log);
    gg_explained_clear(session);
    gg_list_clear(&session->waiting_jobs);
    json_decref(session->settings.values);
    gg_options_free(session->settings.options);
    gg_free(session->settings.trust_help);
    gg_folders_free(session);
    gg_workspace_scan_free(session);
    gg_remote_clear(&session->settings.remote);
    json_decref(session->settings.worker);
    gg_frame_reader_free(session->reader);
}

int gg_server_run(const gg_server_settings *settings) {
    gg_session session = {.options = settings, .encoding = GG_UTF16, .exit_status = 1};
    gg_log_never_wait();
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX,
            1); /* what one thread frees, the next one may use: trees are large and made anew all the time */
    mallopt(
        M_MXFAST,
        0); /* what jobs free is else put together by whoever next needs much memory: the loop, for 70 ms after a large tree */
#endif
#if !GG_SANITIZED /* it watches malloc's */
    gg_trees_in_slabs();
#endif
    session.parent_pid = getppid();
    session.client_pid = (pid_t)settings->parent_pid;
    session.settings.values = json_object();
    session.settings.options = gg_options_new(NULL, NULL, NULL);
    session.reader = gg_frame_reader_new(GG_MAX_MESSAGE_BYTES);
    gg_buf_init(&session.wires, GG_MAX_MESSAGE_BYTES);
    uv_loop_init(&session.loop);
    uv_loop_configure(&session.loop, UV_METRICS_IDLE_TIME);
    uv_timer_init(&session.loop, &session.flush);
    uv_timer_init(&session.loop, &session.parent_watch);
    uv_timer_init(&session.loop, &session.leave);
    uv_prepare_init(&session.loop, &session.prepare);
    session.flush.data = session.parent_watch.data = session.leave.data = session.prepare.data = &session;
    session.flush.timer_cb = on_flush;
    watch_signals(&session);
    session.transport = gg_transport_new(&session);
    uv_prepare_start(&session.prepare, on_turn);
    uv_timer_start(&session.parent_watch, on_parent_check, PARENT_CHECK_MS, PARENT_CHECK_MS);
    uv_run(&session.loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&session.leave, NULL);
    uv_run(&session.loop, UV_RUN_DEFAULT);
    int status = session.exit_status;
    if (uv_loop_close(&session.loop) != 0) {
        gg_log(GG_LOG_ERROR, "a handle was left open");
        status = 70;
    }
    release(&session);
    return status;
}
