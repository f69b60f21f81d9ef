/* See child.h.
 *
 * DESIGN  The thread starts the process, waits for its end, ends its group, reaps it, and wakes the loop.  A process that ended keeps its
 * number until it is reaped, which is done under the mutex, so that no signal of ours reaches somebody else.  Who sees the other's mark
 * last frees: the loop after it has joined the thread, or the thread when it was abandoned. */
#include "server/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FIRST_OWN_FD = 16 }; /* above those that the child is given */

struct gg_child {
    gg_child_options options; /* its fds are our copies, until it began */
    char *program, **args;
    uv_thread_t thread;
    uv_async_t ended;
    uv_mutex_t mutex; /* over what follows */
    pid_t pid;        /* while it may be signalled; else 0 */
    bool kill_wanted, over;
    bool quiet;       /* the loop is not to be woken: it closes, or has closed, what wakes it */
    bool abandoned;   /* it has */
    gg_child_end end; /* when over */
};

static void close_fds(gg_child *child) {
    for (int i = 0; i < child->options.fd_count; i++)
        if (child->options.fds[i] >= 0) close(child->options.fds[i]);
}

static void free_child(gg_child *child) {
    for (char **arg = child->args; *arg; arg++) gg_free(*arg);
    gg_free(child->args);
    gg_free(child->program);
    uv_mutex_destroy(&child->mutex);
    gg_free(child);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------- */

/* As libuv does it: the signals' defaults, none blocked, a session of its own. */
static int spawn(gg_child *child, pid_t *pid) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    error = posix_spawn_file_actions_init(&actions);
    if (error) {
        posix_spawnattr_destroy(&attributes);
        return error;
    }
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    for (int i = 0; i < child->options.fd_count && error == 0; i++)
        error = child->options.fds[i] >= 0
                    ? posix_spawn_file_actions_adddup2(&actions, child->options.fds[i], i)
                    : posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i == 0 ? O_RDONLY : O_RDWR, 0);
    if (error == 0) error = posix_spawnp(pid, child->program, &actions, &attributes, child->args, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static void reap(pid_t pid, gg_child_end *end) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    end->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    end->exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void run(void *argument) {
    gg_child *child = argument;
    pid_t pid = 0;
    int error = spawn(child, &pid);
    close_fds(child);
    if (error == 0) {
        uv_mutex_lock(&child->mutex);
        child->pid = pid;
        if (child->kill_wanted) kill(-pid, SIGKILL);
        uv_mutex_unlock(&child->mutex);
        siginfo_t info;
        while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    }
    uv_mutex_lock(&child->mutex);
    if (error == 0) {
        kill(-pid, SIGKILL); /* what it left behind */
        reap(pid, &child->end);
    }
    child->pid = 0;
    child->end.error = -error;
    child->over = true;
    bool abandoned = child->abandoned;
    if (!child->quiet) uv_async_send(&child->ended);
    uv_mutex_unlock(&child->mutex);
    if (abandoned) free_child(child);
}

/* ---- the loop --------------------------------------------------------------------------------------------------------- */

static void on_joined_closed(uv_handle_t *handle) {
    gg_child *child = handle->data;
    void (*closed)(void *) = child->options.on_closed;
    void *data = child->options.data;
    free_child(child);
    closed(data);
}

static void on_ended(uv_async_t *async) {
    gg_child *child = async->data;
    uv_thread_join(&child->thread); /* it has nothing left to do */
    uv_close((uv_handle_t *)async, on_joined_closed);
    child->options.on_end(child->options.data, &child->end);
}

static void on_unstarted_closed(uv_handle_t *handle) {
    free_child(handle->data);
}

static void on_abandoned_closed(uv_handle_t *handle) {
    gg_child *child = handle->data;
    void (*closed)(void *) = child->options.on_closed;
    void *data = child->options.data;
    uv_mutex_lock(&child->mutex);
    uv_thread_t thread = child->thread;
    bool over = child->over;
    child->abandoned = true;
    uv_mutex_unlock(&child->mutex); /* unless it is over, the thread has the child now, and may be freeing it */
    if (over) {
        uv_thread_join(&thread);
        free_child(child);
    } else {
        pthread_detach(thread);
    }
    closed(data);
}

void gg_child_abandon(gg_child *child) {
    uv_mutex_lock(&child->mutex);
    bool over = child->over;
    child->quiet = true;
    uv_mutex_unlock(&child->mutex);
    if (!over) uv_close((uv_handle_t *)&child->ended, on_abandoned_closed);
}

void gg_child_kill(gg_child *child) {
    uv_mutex_lock(&child->mutex);
    child->kill_wanted = true;
    if (child->pid) kill(-child->pid, SIGKILL);
    uv_mutex_unlock(&child->mutex);
}

static char **copy_args(char *const *args) {
    size_t count = 0;
    while (args[count]) count++;
    char **copies = gg_calloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) copies[i] = gg_str_dup(gg_str_from(args[i]));
    return copies;
}

/* Our copies lie above what the child is given, so that no dup2 of the child's overwrites what a later one needs. */
static int copy_fds(gg_child *child, const int *fds) {
    int error = 0;
    for (int i = 0; i < child->options.fd_count; i++) {
        child->options.fds[i] = fds[i] < 0 || error ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_OWN_FD);
        if (fds[i] >= 0 && child->options.fds[i] < 0 && error == 0) error = -errno;
    }
    return error;
}

/* Who started us may have had children reaped unseen; we want to see them. */
static void see_children(void) {
    struct sigaction now, plain = {.sa_handler = SIG_DFL};
    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN) sigaction(SIGCHLD, &plain, NULL);
}

gg_child *gg_child_start(uv_loop_t *loop, const gg_child_options *options, gg_error *err) {
    gg_child *child = gg_calloc(1, sizeof(gg_child));
    child->options = *options;
    child->options.program = NULL;
    child->options.args = NULL;
    child->program = gg_str_dup(gg_str_from(options->program));
    child->args = copy_args(options->args);
    child->ended.data = child;
    see_children();
    uv_mutex_init(&child->mutex);
    int error = copy_fds(child, options->fds);
    if (error == 0) error = uv_async_init(loop, &child->ended, on_ended);
    if (error) {
        gg_fail(err, GG_EIO, "%s could not be started: %s", options->program, uv_strerror(error));
        close_fds(child);
        free_child(child);
        return NULL;
    }
    error = uv_thread_create(&child->thread, run, child);
    if (error) {
        gg_fail(err, GG_EIO, "%s could not be started: no thread: %s", options->program, uv_strerror(error));
        close_fds(child);
        uv_close((uv_handle_t *)&child->ended, on_unstarted_closed);
        return NULL;
    }
    return child;
}
