/* Runs a person's program with our folder first on its PYTHONPATH.  It has the terminal, and its exit status is ours. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/cli/overlay.h"

extern char **environ;

static pid_t running;

static void pass_on(int signal_number) {
    if (running > 0) kill(running, signal_number);
}

void gg_cli_path_first(const char *variable, const char *folder) {
    const char *path = getenv(variable);
    gg_buf joined;
    gg_buf_init(&joined, 1 << 20);
    (void)gg_buf_printf(&joined, "%s%s%s", folder, path && *path ? ":" : "", path ? path : "");
    setenv(variable, joined.ptr, 1);
    gg_buf_clear(&joined);
}

int gg_cli_launch(const char *command, char *const *program) {
    struct sigaction keep = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(&running, program[0], NULL, &attributes, program, environ);
    posix_spawnattr_destroy(&attributes);
    if (error) {
        fprintf(stderr, "graphglue-lsp %s: %s: %s\n", command, program[0], strerror(error));
        return error == ENOENT ? 127 : 126;
    }
    sigaction(SIGINT, &keep, NULL); /* the terminal sends it to the program too */
    sigaction(SIGQUIT, &keep, NULL);
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    int status = 0;
    while (waitpid(running, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
