/* Folders and files that commands make.  Loop thread only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cli/overlay.h"
#include "server/state_folder.h"

int gg_cli_state_path(char *out, size_t size, const char *file, const char *name, gg_error *err) {
    char here[GG_PATH_BYTES], root[GG_PATH_BYTES];
    if (getcwd(here, sizeof(here)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    int length = snprintf(out, size, "%s/.graphglue/%s", gg_cli_project_of(file, root) ? root : here, name);
    return length < (int)size ? 0 : gg_fail(err, GG_EIO, "the path of .graphglue/%s is too long", name);
}

int gg_cli_make_folder(const char *path, gg_error *err) {
    char at[GG_PATH_BYTES];
    if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at)) return gg_fail(err, GG_EIO, "%s is too long", path);
    for (char *slash = strchr(at + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash) *slash = '\0';
        int failed = mkdir(at, 0777) != 0 && errno != EEXIST ? errno : 0;
        if (failed) return gg_fail(err, GG_EIO, "%s cannot be made: %s", at, strerror(failed));
        if (gg_str_ends_with(gg_str_from(at), GG_STR("/.graphglue"))) {
            (void)gg_state_folder_ignore(at);
        }
        if (slash == NULL) return 0;
        *slash = '/';
    }
}

int gg_cli_rewrite_file(const char *path, gg_str bytes, gg_error *err) {
    struct stat info = {0};
    int error = stat(path, &info) != 0 || access(path, W_OK) != 0 ? errno : 0;
    if (error) return gg_fail(err, GG_EIO, "%s may not be written (%s); it is as it was", path, strerror(error));
    error = info.st_nlink > 1 ? EPERM : gg_state_file_replace_as(path, bytes, &info);
    bool torn = false;
    if (error == EPERM) error = gg_state_file_overwrite(path, bytes, &torn); /* others have a name of it, or own it */
    if (error == 0) return 0;
    return gg_fail(err, GG_EIO, "%s could not be written%s (%s)%s", path, torn ? " to its end" : "", strerror(error),
                   torn ? "" : "; it is as it was");
}

int gg_cli_write_file(const char *path, gg_str bytes, unsigned mode, gg_error *err) {
    int error = gg_state_file_replace(path, bytes, mode, true);
    return error ? gg_fail(err, GG_EIO, "%s could not be written (%s); it is as it was", path, strerror(error)) : 0;
}
