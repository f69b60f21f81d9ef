/* See registry_source.h. */
#include "server/registry_source.h"

#include <stdatomic.h>
#include <string.h>
#include <uv.h>

struct gg_registry_source {
    atomic_int refs;
    char *path, *text, *torch;
    uv_mutex_t mutex; /* over what follows */
    bool read;
    gg_registry *registry;
};

static char *copy(const char *text) {
    return text ? gg_str_dup(gg_str_from(text)) : NULL;
}

gg_registry_source *gg_registry_source_new(const char *path, const char *text) {
    if (path == NULL && text == NULL) return NULL;
    gg_registry_source *source = gg_calloc(1, sizeof(gg_registry_source));
    atomic_init(&source->refs, 1);
    source->path = copy(path);
    source->text = copy(text);
    uv_mutex_init(&source->mutex);
    return source;
}

gg_registry_source *gg_registry_source_ref(gg_registry_source *source) {
    if (source) atomic_fetch_add(&source->refs, 1);
    return source;
}

void gg_registry_source_unref(gg_registry_source **source) {
    gg_registry_source *s = *source;
    *source = NULL;
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1) return;
    gg_registry_free(s->registry);
    uv_mutex_destroy(&s->mutex);
    gg_free(s->path);
    gg_free(s->text);
    gg_free(s->torch);
    gg_free(s);
}

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool gg_registry_source_is(const gg_registry_source *source, const char *path, const char *text) {
    return source && same(source->path, path) && same(source->text, text);
}

void gg_registry_source_tell(gg_registry_source *source, const char *torch) {
    gg_free(source->torch);
    source->torch = copy(torch);
}

const char *gg_registry_source_torch(const gg_registry_source *source) {
    return source && source->torch ? source->torch : "";
}

static void read_registry(gg_registry_source *source) {
    gg_error err = {0};
    int error = source->text
                    ? gg_registry_parse(&source->registry, gg_str_from(source->text), "the worker's registry", &err)
                    : gg_registry_load(&source->registry, source->path, &err);
    if (error) gg_log(GG_LOG_WARNING, "%s", err.message);
}

const gg_registry *gg_registry_source_get(gg_registry_source *source) {
    if (source == NULL) return NULL;
    uv_mutex_lock(&source->mutex);
    if (!source->read) read_registry(source);
    source->read = true;
    const gg_registry *registry = source->registry;
    uv_mutex_unlock(&source->mutex);
    return registry;
}
