/* See recorded.h.  The folder is found, and a document taken for the file's, as analysis/worker/graphglue_worker/recorded.py does it. */
#include "server/recorded.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DOCUMENTS = 2000, MAX_SENT_BYTES = 16 * 1024 * 1024 };

typedef struct reading {
    gg_remote *remote;
    const char *file; /* its links resolved */
    char folder[PATH_MAX];
    size_t left; /* bytes that may still be sent */
    bool too_much;
    json_t *out;
} reading;

char *gg_base64(gg_str bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = gg_malloc((bytes.len + 2) / 3 * 4 + 1), *at = out;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = 0;
        for (size_t j = 0; j < 3; j++) group = group << 8 | (j < n ? (unsigned char)bytes.ptr[i + j] : 0u);
        for (size_t j = 0; j < 4; j++) *at++ = j <= n ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
    *at = '\0';
    return out;
}

/* A whole regular file of what may still be sent; false when there is none. */
static bool read_file(reading *r, const char *path, gg_buf *out) {
    char block[16384];
    struct stat info;
    gg_buf_init(out, r->left);
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL) return false;
    for (size_t n; !out->overflow && (n = fread(block, 1, sizeof(block), file)) > 0;)
        gg_buf_append(out, (gg_str){block, n});
    bool whole = !ferror(file) && !out->overflow;
    r->too_much = r->too_much || out->overflow;
    fclose(file);
    return whole;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool find_folder(reading *r) {
    const char *given = getenv("GRAPHGLUE_INPUTS");
    if (given && *given) return snprintf(r->folder, PATH_MAX, "%s", given) < PATH_MAX && is_folder(r->folder);
    char above[PATH_MAX];
    snprintf(above, sizeof(above), "%s", r->file);
    for (char *slash; (slash = strrchr(above, '/')) != NULL;) {
        *slash = '\0';
        if (snprintf(r->folder, PATH_MAX, "%s/.graphglue/inputs", above) < PATH_MAX && is_folder(r->folder))
            return true;
    }
    return false;
}

/* ---- paths -------------------------------------------------------------------------------------------------------------------- */

static void path_there(reading *r, json_t *owner, const char *key) {
    const json_t *path = json_object_get(owner, key);
    if (!json_is_string(path)) return;
    char *there = gg_remote_path_there(r->remote, (gg_str){json_string_value(path), json_string_length(path)});
    json_object_set_new(owner, key, there ? json_string(there) : json_null());
    gg_free(there);
}

/* Where a class or function is named, {"module", "name", "file"}; arguments may be called `file` too. */
static void references_there(reading *r, json_t *value) {
    json_t *inner;
    size_t index;
    const char *key;
    if (json_object_size(value) == 3 && json_is_string(json_object_get(value, "module")) &&
        json_is_string(json_object_get(value, "name")))
        path_there(r, value, "file");
    json_array_foreach(value, index, inner) references_there(r, inner);
    json_object_foreach(value, key, inner) references_there(r, inner);
}

/* ---- documents --------------------------------------------------------------------------------------------------------------- */

static bool is_of_file(const reading *r, const json_t *document) {
    const char *owner = json_string_value(json_object_get(document, "owner"));
    char real[PATH_MAX];
    return owner && strcmp(realpath(owner, real) ? real : owner, r->file) == 0;
}

static json_t *tensors_of(reading *r, const char *name) {
    char path[PATH_MAX + 300];
    gg_buf bytes;
    json_t *out = NULL;
    snprintf(path, sizeof(path), "%s/%.*s.pt", r->folder, (int)(strlen(name) - strlen(".json")), name);
    if (read_file(r, path, &bytes)) {
        char *text = gg_base64(gg_buf_str(&bytes));
        out = json_string(text);
        gg_free(text);
    }
    gg_buf_clear(&bytes);
    return out ? out : json_null();
}

static void add_document(reading *r, const char *name) {
    char path[PATH_MAX + 300];
    gg_buf bytes;
    snprintf(path, sizeof(path), "%s/%s", r->folder, name);
    bool whole = read_file(r, path, &bytes);
    json_t *document = whole ? json_loadb(bytes.ptr ? bytes.ptr : "", bytes.len, JSON_ALLOW_NUL, NULL) : NULL;
    if (is_of_file(r, document)) {
        r->left -= bytes.len;
        json_t *tensors = tensors_of(r, name);
        size_t size = json_string_length(tensors);
        if (size <= r->left) {
            r->left -= size;
            path_there(r, document, "owner");
            references_there(r, document);
            json_array_append_new(r->out,
                                  json_pack("{s:s, s:O, s:O}", "name", name, "document", document, "tensors", tensors));
        } else {
            r->too_much = true;
        }
        json_decref(tensors);
    }
    json_decref(document);
    gg_buf_clear(&bytes);
}

static int is_document(const struct dirent *entry) {
    return gg_str_ends_with(gg_str_from(entry->d_name), GG_STR(".json"));
}

json_t *gg_recorded_read(const char *file, gg_remote *remote) {
    char real[PATH_MAX];
    reading r = {.remote = remote, .file = realpath(file, real) ? real : file, .left = MAX_SENT_BYTES};
    struct dirent **names = NULL;
    int count = find_folder(&r) ? scandir(r.folder, &names, is_document, alphasort) : 0;
    r.out = json_array();
    for (int i = 0; i < count; i++) {
        if (i < MAX_DOCUMENTS) add_document(&r, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    if (r.too_much)
        gg_log(GG_LOG_WARNING, "recorded inputs of %s over %d MiB are not sent", file, MAX_SENT_BYTES >> 20);
    if (json_array_size(r.out) > 0) return r.out;
    json_decref(r.out);
    return NULL;
}
