/* graphglue-lsp run -- python script.py: runs the program as it is, with our sitecustomize first on PYTHONPATH (graphglue_overlay/), which lets
 * patched copies of installed packages' files be imported in place of the originals.  Its exit status is ours. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/overlay.h"
#include "server/support.h"

/* Absolute; there is a manifest in a folder of it. */
static int find_overlay(const gg_cli_args *args, char out[GG_PATH_BYTES], gg_error *err) {
    char here[GG_PATH_BYTES], beside[GG_PATH_BYTES + 2], path[GG_PATH_BYTES + 300];
    if (getcwd(here, sizeof(here)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    snprintf(beside, sizeof(beside), "%s/x", here);
    bool absolute = args->overlay && args->overlay[0] == '/';
    if (args->overlay)
        snprintf(out, GG_PATH_BYTES, "%s%s%s", absolute ? "" : here, absolute ? "" : "/", args->overlay);
    else if (gg_cli_state_path(out, GG_PATH_BYTES, beside, "overlay", err) != 0)
        return err->code;
    bool found = false;
    DIR *dir = opendir(out);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s/manifest.json", out, entry->d_name);
        found = access(path, R_OK) == 0;
    }
    if (dir) closedir(dir);
    if (found) return 0;
    return gg_fail(err, GG_ENOTFOUND, "there is no overlay in %s: graphglue-lsp fix --package NAME FILE makes one",
                   out);
}

int gg_cli_run_command(int argc, char **argv) {
    gg_cli_args args;
    gg_error err = {0};
    bool help;
    char overlay[GG_PATH_BYTES];
    int status = GG_CLI_FAILED;
    char *support = NULL;
    if (gg_cli_parse(&args, argc, argv, &help, &err) != 0) {
        gg_cli_usage_error("run", &err);
    } else if (help) {
        status = gg_cli_help("run");
    } else if (args.paths.len == 0) {
        gg_fail(&err, GG_EPARAMS, "name a program to run, as in: graphglue-lsp run -- python script.py");
        gg_cli_usage_error("run", &err);
    } else if ((support = gg_support_folder("graphglue_overlay")) == NULL) {
        gg_fail(&err, GG_ENOTFOUND,
                "graphglue_overlay/ was not found beside graphglue-worker: reinstall graphglue-lsp");
        gg_cli_usage_error("run", &err);
    } else if (find_overlay(&args, overlay, &err) != 0) {
        gg_cli_usage_error("run", &err);
    } else {
        gg_list_push(&args.paths, NULL);
        gg_cli_path_first("PYTHONPATH", support);
        setenv("GRAPHGLUE_OVERLAY", overlay, 1);
        if (args.strict) setenv("GRAPHGLUE_OVERLAY_STRICT", "1", 1);
        status = gg_cli_launch("run", args.paths.items);
    }
    gg_free(support);
    gg_cli_args_clear(&args);
    return status;
}
