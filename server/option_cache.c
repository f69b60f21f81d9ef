/* See options.h: most folders have the options of the one above, so that a file is looked for once in each and read once. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "server/options.h"

typedef struct folder {
    char *path;
    gg_options *options;
    bool shared; /* they are those of the folder above */
} folder;

struct gg_option_cache {
    const json_t *over;
    char *base;
    GG_LIST(folder) folders;
    gg_words problems;
};

gg_option_cache *gg_option_cache_new(const json_t *over, const char *base) {
    gg_option_cache *cache = gg_calloc(1, sizeof(gg_option_cache));
    cache->over = over;
    cache->base = base ? gg_str_dup(gg_str_from(base)) : NULL;
    return cache;
}

void gg_option_cache_free(gg_option_cache *cache) {
    if (cache == NULL) return;
    for (size_t i = 0; i < cache->folders.len; i++) {
        gg_free(cache->folders.items[i].path);
        if (!cache->folders.items[i].shared) gg_options_free(cache->folders.items[i].options);
    }
    gg_list_clear(&cache->folders);
    gg_words_clear(&cache->problems);
    gg_free(cache->base);
    gg_free(cache);
}

const gg_words *gg_option_cache_problems(const gg_option_cache *cache) {
    return &cache->problems;
}

static void note_once(gg_option_cache *cache, const char *problem) {
    for (size_t i = 0; i < cache->problems.len; i++)
        if (strcmp(cache->problems.items[i], problem) == 0) return;
    gg_list_push(&cache->problems, gg_str_dup(gg_str_from(problem)));
}

static gg_options *read_options(gg_option_cache *cache, const char *path) {
    gg_project project;
    gg_project_read(&project, path);
    for (size_t i = 0; i < project.problems.len; i++) note_once(cache, project.problems.items[i]);
    gg_options *out = gg_options_new(cache->over, project.values, project.folder ? project.folder : cache->base);
    gg_project_clear(&project);
    return out;
}

const gg_options *gg_option_cache_at(gg_option_cache *cache, const char *path) {
    for (size_t i = cache->folders.len; i-- > 0;)
        if (strcmp(cache->folders.items[i].path, path) == 0) return cache->folders.items[i].options;
    char above[PATH_MAX], file[PATH_MAX + 32];
    snprintf(above, sizeof(above), "%s", path);
    snprintf(file, sizeof(file), "%s/pyproject.toml", path);
    char *slash = strrchr(above, '/');
    if (slash) slash[slash == above] = '\0';
    folder out = {.path = gg_str_dup(gg_str_from(path))};
    out.shared = slash && strcmp(above, path) != 0 && access(file, F_OK) != 0;
    out.options = out.shared ? (gg_options *)(uintptr_t)gg_option_cache_at(cache, above) : read_options(cache, path);
    gg_list_push(&cache->folders, out);
    return out.options;
}
