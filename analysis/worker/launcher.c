/* graphglue-worker: starts the worker's Python inside the user's own interpreter.
 *
 *   graphglue-worker --python /path/to/python [--fd 3] [--workspace DIR]…
 *   graphglue-worker --stdio         the protocol on stdin and stdout, the other options in the first frame (stdio.h)
 *
 * DESIGN  The launcher links nothing of Python.  It asks the interpreter where its libpython is (probe.c), opens that with
 * dlopen, registers the host module as a built-in and enters through Py_BytesMain with argv[0] = the interpreter, so that a
 * virtual environment's site-packages resolve as usual.  Whatever does not fit (no shared libpython, another version, conda)
 * falls back to executing the interpreter, which loads the same host module as an extension.  Both speak the same protocol.
 *   First it executes itself with only those variables that Python and torch may need to start; the others are in a file in memory, for
 * jobs of the user's own code (environment.py): so a sandboxed job's memory holds no key or token. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/worker/probe.h"
#include "analysis/worker/stdio.h"

enum { MAX_WORKSPACES = 64 };

typedef struct settings {
    const char *python, *fd;
    const char *workspaces[MAX_WORKSPACES];
    int workspace_count;
} settings;

static int parse_options(int argc, char **argv, settings *out) {
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--python") == 0)
            out->python = argv[i + 1];
        else if (strcmp(argv[i], "--fd") == 0)
            out->fd = argv[i + 1];
        else if (strcmp(argv[i], "--workspace") == 0 && out->workspace_count < MAX_WORKSPACES)
            out->workspaces[out->workspace_count++] = argv[i + 1];
        else
            return -1;
    }
    return out->python && argc % 2 == 1 ? 0 : -1;
}

/* The folder that holds graphglue_worker/ and the host module: beside this program in a build, ../lib/graphglue installed. */
static bool find_support(char *out, size_t size) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    for (int i = 0; i < 2; i++) {
        char file[PATH_MAX + 64];
        snprintf(out, size, i == 0 ? "%s/../lib/graphglue" : "%s", self);
        snprintf(file, sizeof(file), "%s/graphglue_worker/__main__.py", out);
        if (access(file, R_OK) == 0) return true;
    }
    return false;
}

/* A name without a folder is looked for on PATH, "~" is the home folder: behind a launcher nobody else can know them.  False when there is none. */
static bool find_python(const char *name, char *out, size_t size) {
    const char *home = getenv("HOME"), *path = getenv("PATH");
    if (strncmp(name, "~/", 2) == 0 && home) {
        snprintf(out, size, "%s/%s", home, name + 2);
        return true;
    }
    if (strchr(name, '/')) {
        snprintf(out, size, "%s", name);
        return true;
    }
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");
        int n = snprintf(out, size, "%.*s/%s", (int)length, at, name);
        if (*at == '/' && n > 0 && (size_t)n < size && access(out, X_OK) == 0) return true;
        at += length;
    }
    return false;
}

/* One `ready` frame that says why nothing can run, then the end of the connection. */
static int report_failure(const char *fd, const char *text) {
    char frame[2048];
    int length = snprintf(frame + 4, sizeof(frame) - 4, "{\"op\":\"ready\",\"torch\":null,\"torch_error\":\"");
    for (const char *c = text; *c && length < 1900; c++) {
        if (*c == '"' || *c == '\\') frame[4 + length++] = '\\';
        frame[4 + length++] = *c >= 0 && *c < ' ' ? ' ' : *c;
    }
    length += snprintf(frame + 4 + length, sizeof(frame) - 4 - (size_t)length, "\",\"registry\":null,\"cuda\":null}\n");
    frame[0] = frame[1] = 0;
    frame[2] = (char)(length >> 8);
    frame[3] = (char)length;
    const char *comma = strchr(fd, ',');
    long number = strtol(comma ? comma + 1 : fd, NULL, 10);
    fprintf(stderr, "graphglue-worker: %s\n", text);
    return write((int)number, frame, (size_t)length + 4) < 0 ? 2 : 1;
}

static bool embed(const gg_probe *probe, const char *support, int argc, char **argv, int *status) {
    if (probe->libpython[0] == '\0') return false;
    char host_path[PATH_MAX + 64];
    snprintf(host_path, sizeof(host_path), "%s/_graphglue_host.abi3.so", support);
    void *python = dlopen(probe->libpython, RTLD_NOW | RTLD_GLOBAL);
    if (python == NULL) return false;
    const char *(*get_version)(void);
    int (*append_inittab)(const char *, void *(*)(void));
    int (*bytes_main)(int, char **);
    *(void **)&get_version = dlsym(python, "Py_GetVersion");
    *(void **)&append_inittab = dlsym(python, "PyImport_AppendInittab");
    *(void **)&bytes_main = dlsym(python, "Py_BytesMain");
    if (!get_version || !append_inittab || !bytes_main) return false;
    size_t length = strlen(probe->version);
    const char *version = get_version(); /* "3.11.7 (main, …": the wrong libpython would start silently */
    if (strncmp(version, probe->version, length) != 0 || (version[length] != ' ' && version[length] != '+'))
        return false;
    void *host = dlopen(host_path, RTLD_NOW);
    if (host == NULL) return false;
    void *(*init)(void);
    *(void **)&init = dlsym(host, "PyInit__graphglue_host");
    if (!init || append_inittab("_graphglue_host", init) != 0) return false;
    *status = bytes_main(argc, argv);
    return true;
}

#define ENVIRONMENT_FD "GRAPHGLUE_ENVIRONMENT_FD"

static bool starts_with_any(const char *text, const char *const *heads, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}

static bool may_stay(const char *variable) {
    static const char *const heads[] = {
        "PATH=",     "HOME=", "LANG=",    "LC_",   "LD_",  "PYTHON",  "VIRTUAL_ENV", "CONDA_", "PYENV_", "TMP",
        "TEMP=",     "XDG_",  "OMP_",     "MKL_",  "KMP_", "TORCH",   "PYTORCH",     "CUDA_",  "NVIDIA", "TRITON_",
        "OPENBLAS_", "USER=", "LOGNAME=", "TERM=", "TZ=",  "MALLOC_", "GRAPHGLUE_",  "DYLD_",
    };
    static const char *const secret[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"};
    if (!starts_with_any(variable, heads, sizeof(heads) / sizeof(heads[0]))) return false;
    for (const char *c = variable; *c && *c != '='; c++)
        if (starts_with_any(c, secret, sizeof(secret) / sizeof(secret[0]))) return false;
    return true;
}

/* Executes this program anew; returns where that cannot be done: then the environment stays whole. */
static void hold_back_environment(char **argv) {
    extern char **environ;
    size_t count = 0, kept = 0;
    static char note[48];
    if (getenv(ENVIRONMENT_FD)) return;
    while (environ[count]) count++;
    char **stay = calloc(count + 2, sizeof(*stay));
    int fd = memfd_create("graphglue-environment", 0);
    if (stay == NULL || fd < 0) goto cleanup;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(environ[i]) + 1;
        if (may_stay(environ[i]))
            stay[kept++] = environ[i];
        else if (write(fd, environ[i], size) != (ssize_t)size)
            goto cleanup;
    }
    snprintf(note, sizeof(note), ENVIRONMENT_FD "=%d", fd);
    stay[kept] = note;
    execve("/proc/self/exe", argv, stay);
cleanup:
    if (fd >= 0) close(fd);
    free(stay);
}

static void set_environment(const char *support) {
    /* One thread before the fork, no CUDA in the process that forks. */
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("MKL_NUM_THREADS", "1", 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1", 1);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        setenv("GRAPHGLUE_CUDA_VISIBLE_DEVICES", visible, 1);
    else
        unsetenv("GRAPHGLUE_CUDA_VISIBLE_DEVICES");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    setenv("GRAPHGLUE_SUPPORT", support, 1);
}

static int start(const settings *options) {
    char support[PATH_MAX], program[PATH_MAX + 64], why[1024];
    if (!find_support(support, sizeof(support)))
        return report_failure(options->fd,
                              "graphglue_worker/ was not found beside graphglue-worker: reinstall graphglue-lsp");
    snprintf(program, sizeof(program), "%s/graphglue_worker/__main__.py", support);
    gg_probe probe;
    if (gg_probe_python(&probe, options->python, why, sizeof(why)) != 0) return report_failure(options->fd, why);
    set_environment(support);

    char *child_argv[2 * MAX_WORKSPACES + 8];
    int count = 0;
    child_argv[count++] = (char *)options->python;
    child_argv[count++] = program;
    child_argv[count++] = (char *)"--fd";
    child_argv[count++] = (char *)options->fd;
    for (int i = 0; i < options->workspace_count; i++) {
        child_argv[count++] = (char *)"--workspace";
        child_argv[count++] = (char *)options->workspaces[i];
    }
    child_argv[count] = NULL;

    const char *mode = getenv("GRAPHGLUE_WORKER_MODE");
    bool executed = (mode && strcmp(mode, "executed") == 0) || probe.prefers_exec;
    int status = 1;
    setenv("GRAPHGLUE_WORKER_MODE", "embedded", 1);
    if (!executed && embed(&probe, support, count, child_argv, &status)) return status;
    if (mode && strcmp(mode, "embedded") == 0)
        return report_failure(options->fd, "the interpreter has no shared libpython that can be embedded");
    setenv("GRAPHGLUE_WORKER_MODE", "executed", 1);
    execv(options->python, child_argv);
    snprintf(why, sizeof(why), "%.900s could not be executed: %s", options->python, strerror(errno));
    return report_failure(options->fd, why);
}

int main(int argc, char **argv) {
    settings options = {.fd = "3"};
    char why[1024], fds[32], python[PATH_MAX];
    hold_back_environment(argv);
    gg_die_with_parent();
    if (argc == 2 && strcmp(argv[1], "--stdio") == 0) {
        int in = -1, out = -1;
        bool begun = gg_stdio_begin(&in, &out, &argc, &argv, why, sizeof(why)) == 0;
        snprintf(fds, sizeof(fds), "%d,%d", in, out);
        options.fd = fds;
        if (!begun) return report_failure(options.fd, why);
    }
    if (parse_options(argc, argv, &options) != 0) {
        fputs("usage: graphglue-worker --python PATH [--fd N] [--workspace DIR]...\n"
              "       graphglue-worker --stdio\n",
              stderr);
        return 2;
    }
    if (!find_python(options.python, python, sizeof(python))) {
        snprintf(why, sizeof(why),
                 "there is no %.200s on PATH where the worker runs: set graphglue.python or pass --python",
                 options.python);
        return report_failure(options.fd, why);
    }
    options.python = python;
    return start(&options);
}
