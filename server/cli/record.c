/* graphglue-lsp record -- python train.py: runs the program as it is, with our sitecustomize first on PYTHONPATH (graphglue_record/), which
 * keeps example inputs while it runs.  The program has the terminal; its exit status is ours. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/cli/overlay.h"
#include "server/support.h"

/* Absolute, and made. */
static int make_folder(const gg_cli_args *args, char *out, size_t size, gg_error *err) {
    char here[GG_PATH_BYTES], beside[GG_PATH_BYTES + 2];
    if (getcwd(here, sizeof(here)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    snprintf(beside, sizeof(beside), "%s/x", here);
    int error = 0;
    if (args->out == NULL)
        error = gg_cli_state_path(out, size, beside, "inputs", err);
    else
        snprintf(out, size, "%s%s%s", args->out[0] == '/' ? "" : here, args->out[0] == '/' ? "" : "/", args->out);
    return error ? error : gg_cli_make_folder(out, err);
}

static void set_environment(const gg_cli_args *args, const char *folder, const char *support) {
    gg_cli_path_first("PYTHONPATH", support);
    setenv("GRAPHGLUE_RECORD", folder, 1);
    setenv("GRAPHGLUE_RECORD_VALUES", args->values ? args->values : "small", 1);
}

typedef struct totals {
    size_t documents, sets, problems;
} totals;

static void count_document(totals *sum, const char *path, gg_cli_names *owners) {
    json_t *document = json_load_file(path, 0, NULL);
    size_t sets = json_array_size(json_object_get(document, "sets"));
    const char *owner = json_string_value(json_object_get(document, "owner"));
    const char *problem = json_string_value(json_object_get(document, "problem"));
    const char *name = json_string_value(json_object_get(json_object_get(document, "target"), "name"));
    sum->documents += sets > 0;
    sum->sets += sets;
    if (sets == 0 && problem && name) {
        sum->problems++;
        fprintf(stderr, "  %s could not be kept: %s\n", name, problem);
    }
    bool known = owner == NULL || sets == 0;
    for (size_t i = 0; i < owners->len && !known; i++) known = strcmp(owners->items[i], owner) == 0;
    if (!known) gg_list_push(owners, gg_str_dup(gg_str_from(owner)));
    json_decref(document);
}

static bool is_before(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* What this run has written, on stderr: stdout is the program's. */
static void report(const char *folder, struct timespec since) {
    totals sum = {0};
    gg_cli_names owners = {0};
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[GG_PATH_BYTES + 300];
        struct stat info;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (gg_str_ends_with(gg_str_from(entry->d_name), GG_STR(".json")) && stat(path, &info) == 0 &&
            !is_before(info.st_mtim, since))
            count_document(&sum, path, &owners);
    }
    if (dir) closedir(dir);
    if (sum.documents == 0 && sum.problems == 0) {
        fputs("graphglue: nothing was recorded: no module or compiled function ran in a Python that reads PYTHONPATH "
              "(python -I and -E do not)\n",
              stderr);
        return;
    }
    fprintf(stderr, "graphglue: recorded %zu input set%s of %zu entr%s in %s\n", sum.sets, sum.sets == 1 ? "" : "s",
            sum.documents, sum.documents == 1 ? "y" : "ies", folder);
    for (size_t i = 0; i < owners.len; i++) {
        fprintf(stderr, "  graphglue-lsp check %s\n", owners.items[i]);
        gg_free(owners.items[i]);
    }
    gg_list_clear(&owners);
}

int gg_cli_record(int argc, char **argv) {
    gg_cli_args args;
    gg_error err = {0};
    bool help;
    char folder[GG_PATH_BYTES];
    int status = GG_CLI_FAILED;
    char *support = NULL;
    if (gg_cli_parse(&args, argc, argv, &help, &err) != 0) {
        gg_cli_usage_error("record", &err);
    } else if (help) {
        status = gg_cli_help("record");
    } else if (args.paths.len == 0) {
        gg_fail(&err, GG_EPARAMS, "name a program to run, as in: graphglue-lsp record -- python train.py");
        gg_cli_usage_error("record", &err);
    } else if ((support = gg_support_folder("graphglue_record")) == NULL) {
        gg_fail(&err, GG_ENOTFOUND, "graphglue_record/ was not found beside graphglue-worker: reinstall graphglue-lsp");
        gg_cli_usage_error("record", &err);
    } else if (make_folder(&args, folder, sizeof(folder), &err) != 0) {
        gg_cli_usage_error("record", &err);
    } else {
        struct timespec since;
        clock_gettime(CLOCK_REALTIME_COARSE, &since); /* a file system stamps its files with this one */
        gg_list_push(&args.paths, NULL);
        set_environment(&args, folder, support);
        status = gg_cli_launch("record", args.paths.items);
        report(folder, since);
    }
    gg_free(support);
    gg_cli_args_clear(&args);
    return status;
}
