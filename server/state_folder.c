/* See state_folder.h. */
#include "server/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool gg_state_folder_ignore(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/.gitignore", folder) >= (int)sizeof(path)) return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return errno == EEXIST;
    bool written = write(fd, "*\n", 2) == 2;
    return close(fd) == 0 && written;
}

bool gg_state_folder_make(const char *root, const char *below) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/.graphglue", root);
    if (length + strlen(below) + 2 > sizeof(path)) return false;
    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || !gg_state_folder_ignore(path)) return false;
    for (const char *at = below; *at;) {
        size_t part = strcspn(at, "/");
        length += snprintf(path + length, sizeof(path) - (size_t)length, "/%.*s", (int)part, at);
        if (mkdir(path, 0777) != 0 && errno != EEXIST) return false;
        at += part + (at[part] == '/');
    }
    return true;
}
