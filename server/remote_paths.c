/* Paths here and there: see remote.h.  The longest folder that a path lies in decides, the first of equal ones. */
#include <stdlib.h>

#include "server/remote.h"

static bool lies_in(gg_str path, const char *folder) {
    size_t n = strlen(folder);
    return gg_str_starts_with(path, gg_str_from(folder)) && (path.len == n ? n > 0 : path.ptr[n] == '/');
}

/* folder + what is left of the path; the root itself for an empty folder. */
static char *join(const char *folder, gg_str rest) {
    gg_buf buf;
    gg_buf_init(&buf, strlen(folder) + rest.len + 2);
    gg_buf_append_z(&buf, folder);
    gg_buf_append(&buf, rest);
    if (buf.len == 0) gg_buf_append_char(&buf, '/');
    return gg_buf_take(&buf);
}

char *gg_remote_path_there(gg_remote *remote, gg_str local) {
    gg_path_map *best = NULL;
    size_t length = 0;
    for (size_t i = 0; i < remote->maps.len; i++) {
        gg_path_map *m = &remote->maps.items[i];
        const char *const variants[] = {m->local, m->real};
        for (int real = 0; real < 2; real++) {
            size_t n = strlen(variants[real]);
            if (!lies_in(local, variants[real]) || (best && n <= length)) continue;
            best = m;
            length = n;
            m->by_real = real == 1;
        }
    }
    if (best) return join(best->remote, gg_str_slice(local, length, local.len));
    return remote->maps.len ? NULL : gg_str_dup(local);
}

static const gg_path_map *map_of(const gg_remote *remote, gg_str path) {
    const gg_path_map *best = NULL;
    for (size_t i = 0; i < remote->maps.len; i++) {
        const gg_path_map *m = &remote->maps.items[i];
        if (lies_in(path, m->remote) && (best == NULL || strlen(m->remote) > strlen(best->remote))) best = m;
    }
    return best;
}

char *gg_remote_path_here(const gg_remote *remote, gg_str path) {
    const gg_path_map *m = map_of(remote, path);
    if (m) return join(m->by_real ? m->real : m->local, gg_str_slice(path, strlen(m->remote), path.len));
    if (remote->maps.len == 0 || !gg_str_starts_with(path, GG_STR("/"))) return gg_str_dup(path);
    return join("remote:", path);
}

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

static bool in_path(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || (unsigned char)c >= 0x80;
}

/* The folder of theirs that a text goes on with. */
static const gg_path_map *map_at(const gg_remote *remote, gg_str text) {
    const gg_path_map *best = NULL;
    for (size_t i = 0; i < remote->maps.len; i++) {
        const gg_path_map *m = &remote->maps.items[i];
        size_t n = strlen(m->remote);
        bool whole = n > 0 && gg_str_starts_with(text, gg_str_from(m->remote)) &&
                     (text.len == n || text.ptr[n] == '/' || !in_path(text.ptr[n]));
        if (whole && (best == NULL || n > strlen(best->remote))) best = m;
    }
    return best;
}

/* The text with each folder of theirs in it replaced, or NULL when there is none. */
static char *words_here(const gg_remote *remote, gg_str text) {
    gg_buf out;
    size_t told = 0;
    gg_buf_init(&out, (size_t)GG_MAX_WORKER_FRAME_BYTES * 4);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '/' || (i > 0 && in_path(text.ptr[i - 1]))) continue;
        const gg_path_map *m = map_at(remote, gg_str_slice(text, i, text.len));
        if (m == NULL) continue;
        gg_buf_append(&out, gg_str_slice(text, told, i));
        gg_buf_append_z(&out, m->by_real ? m->real : m->local);
        told = i + strlen(m->remote);
    }
    if (told == 0) return NULL;
    gg_buf_append(&out, gg_str_slice(text, told, text.len));
    return gg_buf_take(&out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------------- */

static json_t *files_there(gg_remote *remote, const json_t *files) {
    json_t *out = json_array(), *file;
    size_t index;
    json_array_foreach(files, index, file) {
        const json_t *name = json_object_get(file, "file");
        char *there = gg_remote_path_there(remote, (gg_str){json_string_value(name), json_string_length(name)});
        if (there) {
            json_t *copy = json_copy(file);
            json_object_set_new(copy, "file", json_string(there));
            json_array_append_new(out, copy);
        }
        gg_free(there);
    }
    return out;
}

int gg_remote_request(gg_remote *remote, json_t *request, gg_error *err) {
    static const char *const lists[] = {"overlay", "original", "edited"};
    const json_t *file = json_object_get(request, "file");
    char *there = gg_remote_path_there(remote, (gg_str){json_string_value(file), json_string_length(file)});
    if (there == NULL)
        return gg_fail(
            err, GG_ENOTFOUND,
            "%s lies in no folder that worker.pathMap (--worker-map) names, so the worker behind %s cannot see it",
            json_string_value(file), remote->command.items[0]);
    json_object_set_new(request, "file", json_string(there));
    gg_free(there);
    for (size_t i = 0; i < GG_COUNT(lists); i++) {
        const json_t *files = json_object_get(request, lists[i]);
        if (files) json_object_set_new(request, lists[i], files_there(remote, files));
    }
    return 0;
}

static bool one_of(const char *key, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, names[i]) == 0) return true;
    return false;
}

static void text_here(const gg_remote *remote, const char *key, json_t *value) {
    static const char *const paths[] = {"file", "registry"};
    static const char *const words[] = {"message",     "reason", "reasons",    "context",
                                        "explanation", "output", "torch_error"};
    gg_str text = {json_string_value(value), json_string_length(value)};
    char *here = one_of(key, paths, GG_COUNT(paths))   ? gg_remote_path_here(remote, text)
                 : one_of(key, words, GG_COUNT(words)) ? words_here(remote, text)
                                                       : NULL;
    if (here) json_string_set(value, here);
    gg_free(here);
}

static void walk(const gg_remote *remote, const char *key, json_t *value) {
    json_t *inner;
    size_t index;
    if (json_is_string(value)) text_here(remote, key, value);
    json_array_foreach(value, index, inner) walk(remote, key, inner);
    json_object_foreach(value, key, inner) walk(remote, key, inner);
}

void gg_remote_frame(const gg_remote *remote, json_t *frame) {
    if (remote->maps.len) walk(remote, "", frame);
}
