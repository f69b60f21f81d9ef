/* See state_folder.h. */
#include "server/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool too_long(void) {
    errno = ENAMETOOLONG;
    return false;
}

static bool write_all(int fd, gg_str bytes) {
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + at, bytes.len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

bool gg_state_folder_ignore(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/.gitignore", folder) >= (int)sizeof(path)) return too_long();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return errno == EEXIST;
    int error = write_all(fd, GG_STR("*\n")) ? 0 : errno;
    if (close(fd) != 0 && error == 0) error = errno;
    if (error) unlink(path); /* an empty one would keep nothing out, and be taken for a good one the next time */
    errno = error;
    return error == 0;
}

bool gg_state_folder_make(const char *root, const char *below) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/.graphglue", root);
    if (length + strlen(below) + 2 > sizeof(path)) return too_long();
    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || !gg_state_folder_ignore(path)) return false;
    for (const char *at = below; *at;) {
        size_t part = strcspn(at, "/");
        length += snprintf(path + length, sizeof(path) - (size_t)length, "/%.*s", (int)part, at);
        if (mkdir(path, 0777) != 0 && errno != EEXIST) return false;
        at += part + (at[part] == '/');
    }
    return true;
}

/* `like`: whose owner and group it gets; NULL: those of who runs this. */
static int replace(const char *path, gg_str bytes, unsigned mode, const struct stat *like, bool synced) {
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof(temporary), "%s.graphglue-XXXXXX", path) >= (int)sizeof(temporary))
        return ENAMETOOLONG;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) return errno;
    bool owned =
        like == NULL || fchown(fd, like->st_uid, like->st_gid) == 0; /* before its mode, which this may change */
    int error = owned && fchmod(fd, mode) == 0 && write_all(fd, bytes) && (!synced || fsync(fd) == 0) ? 0 : errno;
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(temporary, path) != 0) error = errno;
    if (error) unlink(temporary);
    return error;
}

int gg_state_file_replace(const char *path, gg_str bytes, unsigned mode, bool synced) {
    return replace(path, bytes, mode, NULL, synced);
}

int gg_state_file_replace_as(const char *path, gg_str bytes, const struct stat *like) {
    return replace(path, bytes, like->st_mode & 07777, like, true);
}

int gg_state_file_overwrite(const char *path, gg_str bytes, bool *torn) {
    struct stat before;
    *torn = false;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = fstat(fd, &before) == 0 ? 0 : errno;
    if (error == 0 && (off_t)bytes.len > before.st_size) { /* room for all of it first */
        error = posix_fallocate(fd, 0, (off_t)bytes.len);
        if (error == EOPNOTSUPP || error == EINVAL) error = 0;
        if (error && ftruncate(fd, before.st_size) != 0) *torn = true;
    }
    if (error == 0) {
        error = write_all(fd, bytes) && ftruncate(fd, (off_t)bytes.len) == 0 && fsync(fd) == 0 ? 0 : errno;
        *torn = error != 0;
    }
    if (close(fd) != 0 && error == 0) error = errno;
    return error;
}

typedef struct aged {
    char name[64];
    int64_t changed;
} aged;

static int by_age(const void *a, const void *b) {
    int64_t x = ((const aged *)a)->changed, y = ((const aged *)b)->changed;
    return (x > y) - (x < y);
}

void gg_state_folder_trim(const char *folder, size_t max) {
    enum { PART = 4 };
    char path[PATH_MAX];
    GG_LIST(aged) records = {0};
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        aged record = {.changed = 0};
        struct stat info;
        if (strstr(entry->d_name, ".json") == NULL ||
            snprintf(record.name, sizeof(record.name), "%s", entry->d_name) >= (int)sizeof(record.name) ||
            snprintf(path, sizeof(path), "%s/%s", folder, record.name) >= (int)sizeof(path))
            continue;
        if (stat(path, &info) == 0) record.changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        gg_list_push(&records, record);
    }
    if (dir) closedir(dir);
    if (records.len > max) {
        qsort(records.items, records.len, sizeof(aged), by_age);
        for (size_t i = 0; i < records.len / PART; i++)
            if (snprintf(path, sizeof(path), "%s/%s", folder, records.items[i].name) < (int)sizeof(path)) unlink(path);
    }
    gg_list_clear(&records);
}

void gg_state_record_keep(const char *root, const char *below, const char *path, gg_str bytes, size_t max) {
    char folder[PATH_MAX];
    int error = gg_state_folder_make(root, below) ? gg_state_file_replace(path, bytes, 0600, false) : errno;
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO; /* else: not to be written to */
    if (error) gg_log(full ? GG_LOG_WARNING : GG_LOG_INFO, "%s could not be kept: %s", path, strerror(error));
    if (snprintf(folder, sizeof(folder), "%s/.graphglue/%s", root, below) < (int)sizeof(folder))
        gg_state_folder_trim(folder, max);
}
