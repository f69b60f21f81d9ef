/* See result_cache.h. */
#include "server/result_cache.h"
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

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/gg_server.h"

enum { MAX_RECORD_BYTES = 16 * 1024 * 1024, MAX_READ_BYTES = 64 * 1024 * 1024, MAX_RECORDS = 2000 };

#define CLOCK_TICK_NS 20000000 /* a file system's clock may lag this far behind */

typedef char hex[33];

static void finish(XXH3_state_t *state, hex out) {
    XXH128_hash_t h = XXH3_128bits_digest(state);
    snprintf(out, sizeof(hex), "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

static void hash_bytes(gg_str bytes, hex out) {
    XXH3_state_t state; /* XXH3_createState() would want to be asked whether it got memory */
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, bytes.ptr ? bytes.ptr : "", bytes.len);
    finish(&state, out);
}

static int64_t changed_ns(const struct stat *info) {
    int64_t modified = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
    int64_t moved = (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec;
    return modified > moved ? modified : moved;
}

static void sign_stat(const char *path, char *out, size_t size, int64_t *changed) {
    struct stat info;
    *changed = 0;
    if (stat(path, &info) != 0) {
        snprintf(out, size, "absent");
        return;
    }
    *changed = changed_ns(&info);
    snprintf(out, size, "%lld %lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
}

/* The hash of a regular file's content.  What is no regular file, or is too large to hash, is told by its state.  *changed: when the file
 * last changed, 0 when it is absent. */
static void sign_content(const char *path, char *out, size_t size, int64_t *changed) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MAX_READ_BYTES) {
        if (fd >= 0) close(fd);
        sign_stat(path, out, size, changed);
        return;
    }
    *changed = changed_ns(&info);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    char block[16384];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) XXH3_128bits_update(&state, block, (size_t)n);
    close(fd);
    if (n < 0) { /* a part of it would be as good as the whole */
        sign_stat(path, out, size, changed);
        return;
    }
    hex content;
    finish(&state, content);
    snprintf(out, size, "%s", content);
}

static void sign(const gg_cache_key *key, const char *file, const char *origin, char *out, size_t size,
                 int64_t *changed) {
    *changed = 0;
    for (size_t i = 0; i < key->overlay_count; i++) {
        if (!gg_str_is(key->overlay[i].file, file)) continue;
        hex content;
        hash_bytes(key->overlay[i].text, content);
        snprintf(out, size, "%s", content);
        return;
    }
    if (origin && strcmp(origin, "library") == 0)
        sign_stat(file, out, size, changed);
    else
        sign_content(file, out, size, changed);
}

/* ---- places ------------------------------------------------------------------------------------------------------------------ */

static bool record_path(const gg_cache_key *key, char *out, size_t size) {
    gg_buf name;
    hex hashed;
    gg_buf_init(&name, 1 << 20);
    (void)gg_buf_printf(&name, "%s\n%s\n%s", key->file, key->mode, key->identity);
    hash_bytes(gg_buf_str(&name), hashed);
    gg_buf_clear(&name);
    return snprintf(out, size, "%s/.graphglue/cache/captures/%s.json", key->workspace, hashed) < (int)size;
}

/* ---- public ------------------------------------------------------------------------------------------------------------------- */

char *gg_cache_identity(const char *python, const char *support) {
    gg_buf out;
    char signature[64], path[PATH_MAX + 300];
    int64_t changed;
    gg_buf_init(&out, 1 << 20);
    sign_stat(python, signature, sizeof(signature), &changed);
    (void)gg_buf_printf(&out, "%s %s %s", GG_VERSION, python, signature);
    const char *search = getenv("PYTHONPATH");
    if (search) (void)gg_buf_printf(&out, " %s", search);
    DIR *dir = opendir(support);
    uint64_t sum = 0; /* the order in which a folder lists its files is no difference */
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (snprintf(path, sizeof(path), "%s/%s", support, entry->d_name) >= (int)sizeof(path) ||
            strstr(entry->d_name, ".py") == NULL)
            continue;
        sign_stat(path, signature, sizeof(signature), &changed);
        sum += XXH3_64bits(entry->d_name, strlen(entry->d_name)) ^ XXH3_64bits(signature, strlen(signature));
    }
    if (dir) closedir(dir);
    (void)gg_buf_printf(&out, " %016llx", (unsigned long long)sum);
    return gg_buf_take(&out);
}

static bool still_as_it_was(const gg_cache_key *key, const json_t *reads) {
    size_t index;
    json_t *read_file;
    json_array_foreach(reads, index, read_file) {
        const char *file = json_string_value(json_object_get(read_file, "file"));
        const char *was = json_string_value(json_object_get(read_file, "was"));
        char now[64];
        int64_t changed;
        if (file == NULL || was == NULL) return false;
        sign(key, file, json_string_value(json_object_get(read_file, "origin")), now, sizeof(now), &changed);
        if (strcmp(now, was) != 0) return false;
    }
    return json_array_size(reads) > 0;
}

json_t *gg_cache_find(const gg_cache_key *key) {
    char path[PATH_MAX];
    struct stat info;
    if (!record_path(key, path, sizeof(path)) || stat(path, &info) != 0 || info.st_size > MAX_RECORD_BYTES) return NULL;
    json_t *record = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *identity = json_string_value(json_object_get(record, "identity"));
    const char *file = json_string_value(json_object_get(record, "file"));
    json_t *result = NULL;
    if (identity && strcmp(identity, key->identity) == 0 && file && strcmp(file, key->file) == 0 &&
        still_as_it_was(key, json_object_get(record, "reads")))
        result = json_incref(json_object_get(record, "result"));
    if (result) json_object_set(result, "reads", json_object_get(record, "reads"));
    json_decref(record);
    return result;
}

void gg_cache_store(const gg_cache_key *key, const json_t *result, const json_t *reads, int64_t started_ns) {
    if (!json_is_array(reads)) return;
    json_t *signed_reads = json_array();
    size_t index;
    json_t *read_file;
    bool known = true;
    json_array_foreach(reads, index, read_file) {
        const char *file = json_string_value(json_object_get(read_file, "file"));
        const char *origin = json_string_value(json_object_get(read_file, "origin"));
        char now[64];
        int64_t changed = 0;
        if (file == NULL) continue;
        sign(key, file, origin, now, sizeof(now), &changed);
        known = known && changed + CLOCK_TICK_NS < started_ns;
        json_array_append_new(signed_reads,
                              json_pack("{s:s, s:s, s:s}", "file", file, "origin", origin ? origin : "", "was", now));
    }
    json_t *record = json_pack("{s:s, s:s, s:o, s:O}", "identity", key->identity, "file", key->file, "reads",
                               signed_reads, "result", result);
    char *text = known && record ? json_dumps(record, JSON_COMPACT) : NULL;
    json_decref(record);
    char path[PATH_MAX];
    if (text && strlen(text) <= MAX_RECORD_BYTES && record_path(key, path, sizeof(path)))
        gg_state_record_keep(key->workspace, "cache/captures", path, gg_str_from(text), MAX_RECORDS);
    free(text);
}
