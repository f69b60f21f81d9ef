/* See probe.h.  The interpreter prints one line per fact; candidates for libpython are tried in the order printed. */
#include "analysis/worker/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { PROBE_DEADLINE_MS = 20000, MAX_OUTPUT_BYTES = 16384 };

static const char script[] =
    "import os, sys, sysconfig as s\n"
    "sys.stdout.write('version %s\\n' % '.'.join(map(str, sys.version_info[:3])))\n" /* Python 2 says its version too */
    "if sys.version_info < (3, 10): raise SystemExit\n"
    "print('minor', sys.implementation.name == 'cpython')\n"
    "print('exec', os.path.exists(os.path.join(sys.base_prefix, 'conda-meta')) or "
    "sys.base_prefix.startswith('/nix/') or "
    "os.path.realpath(os.path.dirname(sys.executable)) != os.path.realpath(os.path.dirname(sys.argv[1])))\n"
    "print('threads', bool(s.get_config_var('Py_GIL_DISABLED')))\n"
    "name = s.get_config_var('INSTSONAME') or s.get_config_var('LDLIBRARY') or ''\n"
    "v = 'libpython%d.%d.so.1.0' % sys.version_info[:2]\n"
    "exe = os.path.dirname(os.path.realpath(sys.executable))\n"
    "for d in (s.get_config_var('LIBDIR') or '', os.path.join(sys.base_prefix, 'lib'), os.path.join(exe, '..', "
    "'lib'),\n"
    "          os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('MULTIARCH') or '')):\n"
    "    for n in (name, v):\n"
    "        p = os.path.join(d, n)\n"
    "        if '.so' in n and os.path.isfile(p): print('lib', p)\n";

static int collect(int fd, char *out, size_t size) {
    size_t length = 0;
    for (int waited = 0; waited < PROBE_DEADLINE_MS;) {
        struct pollfd p = {fd, POLLIN, 0};
        int n = poll(&p, 1, 100);
        if (n < 0 && errno != EINTR) return -1;
        if (n <= 0) {
            waited += 100;
            continue;
        }
        ssize_t got = read(fd, out + length, size - 1 - length);
        if (got <= 0 || length + (size_t)got >= size - 1) {
            out[got > 0 ? length + (size_t)got : length] = '\0';
            return 0;
        }
        length += (size_t)got;
    }
    return -1;
}

void gg_die_with_parent(void) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

static int run(const char *python, char *out, size_t size, char *why, size_t why_size) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        snprintf(why, why_size, "no pipe could be made: %s", strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        gg_die_with_parent();
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(pipe_fds[1], 1);
        dup2(null, 2);
        for (int fd = 3; fd < 256; fd++) close(fd); /* the worker's socket must not leak into it */
        execl(python, python, "-c", script, python, (char *)NULL);
        _exit(127);
    }
    close(pipe_fds[1]);
    int failed = pid < 0 || collect(pipe_fds[0], out, size) != 0;
    close(pipe_fds[0]);
    if (pid > 0) {
        if (failed) kill(pid, SIGKILL);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
            snprintf(why, why_size, "%.800s could not be executed: is it a Python interpreter?", python);
            return -1;
        }
        failed = failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    if (failed) snprintf(why, why_size, "%.800s did not answer as a Python interpreter does", python);
    return failed ? -1 : 0;
}

int gg_probe_python(gg_probe *out, const char *python, char *why, size_t why_size) {
    char output[MAX_OUTPUT_BYTES], *rest = NULL;
    *out = (gg_probe){{0}, {0}, false};
    if (run(python, output, sizeof(output), why, why_size) != 0) return -1;
    bool supported = false, free_threaded = false;
    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "version ", 8) == 0)
            snprintf(out->version, sizeof(out->version), "%s", line + 8);
        else if (strcmp(line, "minor True") == 0)
            supported = true;
        else if (strcmp(line, "exec True") == 0)
            out->prefers_exec = true;
        else if (strcmp(line, "threads True") == 0)
            free_threaded = true;
        else if (strncmp(line, "lib ", 4) == 0 && out->libpython[0] == '\0')
            snprintf(out->libpython, sizeof(out->libpython), "%s", line + 4);
    }
    if (supported && !free_threaded) return 0;
    if (free_threaded) { /* it cannot load modules of the stable ABI */
        snprintf(why, why_size, "%.700s is a free-threaded Python: graphglue-lsp needs the ordinary build", python);
        return -1;
    }
    snprintf(why, why_size, "%.700s is Python %s: graphglue-lsp needs CPython 3.10 or later", python,
             out->version[0] ? out->version : "of an unknown version");
    return -1;
}
