/* graphglue-lsp: arguments; everything else is behind server/gg_server.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/gg_server.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"check", gg_cli_check, "show the graph breaks of files"},
    {"fix", gg_cli_fix, "mend graph breaks with proved edits"},
    {"graph", gg_cli_graph, "show the graphs that a file's entries are captured as"},
    {"explain", gg_cli_explain, "say what a graph break is"},
    {"record", gg_cli_record, "run a program and keep example inputs of its modules"},
    {"run", gg_cli_run_command, "run a program with the patched packages of fix --package"},
    {"doctor", gg_cli_doctor, "say which Python and torch are used and what is missing"},
};

static int usage(FILE *out) {
    fprintf(out, "usage: graphglue-lsp --stdio | COMMAND [options]\n\n  --stdio                  speak LSP on standard "
                 "input and output\n");
    for (size_t i = 0; i < GG_COUNT(commands); i++) fprintf(out, "  %-24s %s\n", commands[i].name, commands[i].help);
    fprintf(out, "\n  --log-level LEVEL        error, warning (default), info, debug; also GRAPHGLUE_LOG\n"
                 "  --version, --help\n");
    return out == stdout ? 0 : 2;
}

static int unknown(const char *arg) {
    fprintf(stderr, "graphglue-lsp: unknown %s '%s'", arg[0] == '-' ? "option" : "command", arg);
    for (size_t i = 0; i < GG_COUNT(commands); i++)
        if (gg_cli_is_near(arg, commands[i].name)) {
            fprintf(stderr, ": did you mean '%s'?\n", commands[i].name);
            return 2;
        }
    if (strchr(arg, '/') || gg_str_ends_with(gg_str_from(arg), GG_STR(".py"))) {
        fprintf(stderr, ": did you mean 'graphglue-lsp check %s'?\n", arg);
        return 2;
    }
    fputs("\n\n", stderr);
    return usage(stderr);
}

static bool set_level(const char *name) {
    gg_log_level level;
    if (name == NULL || !gg_log_parse_level(name, &level)) return false;
    gg_log_set_level(level);
    return true;
}

/* A standard descriptor that is closed would be given to the next file that is opened.  What is put there instead cannot be used either. */
static void hold_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest number that is free: fd */
}

static int run(int argc, char **argv) {
    gg_server_settings settings = {0};
    bool stdio = false;
    if (getenv("GRAPHGLUE_LOG")) (void)set_level(getenv("GRAPHGLUE_LOG"));
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--stdio") == 0)
            stdio = true;
        else if (strcmp(arg, "--test") == 0)
            settings.test = true;
        else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 || strcmp(arg, "help") == 0)
            return usage(stdout);
        else if (strcmp(arg, "--version") == 0) {
            puts("graphglue-lsp " GG_VERSION);
            return 0;
        } else if (strcmp(arg, "--log-level") == 0 && i + 1 < argc) {
            if (!set_level(argv[++i])) {
                fprintf(stderr, "graphglue-lsp: --log-level wants error, warning, info or debug, not '%s'\n", argv[i]);
                return 2;
            }
        } else if (strcmp(arg, "--parent-pid") == 0 && i + 1 < argc) {
            settings.parent_pid = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else {
            for (size_t j = 0; j < GG_COUNT(commands) && !stdio; j++)
                if (strcmp(arg, commands[j].name) == 0) return commands[j].run(argc - i, argv + i);
            return unknown(arg);
        }
    }
    return stdio ? gg_server_run(&settings) : usage(stderr);
}

int main(int argc, char **argv) {
    gg_memory_or_abort();
    hold_standard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of the write */
    int status = run(argc, argv);
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    int why = errno ? errno : EIO;
    if (poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP | POLLNVAL)) return status; /* `| head` has enough */
    fprintf(stderr, "graphglue-lsp: standard output cannot be written: %s\n", strerror(why));
    return 2; /* results that nobody has are none */
}
