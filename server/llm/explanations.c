/* See explanations.h. */
#include "server/llm/explanations.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/state_folder.h"

enum { MAX_RECORDS = 2000, MAX_RECORD_BYTES = 64 * 1024 };

#define FOLDER "cache/explanations"

bool gg_explanation_key(char out[GG_EXPLANATION_KEY], gg_str subject, const char *model) {
    if (subject.len == 0) return false;
    XXH128_hash_t h = XXH3_128bits_withSeed(subject.ptr, subject.len, XXH3_64bits(model, strlen(model)));
    snprintf(out, GG_EXPLANATION_KEY, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
    return true;
}

static bool path_of(char out[PATH_MAX], const gg_explained_by *by, const gg_tree *tree, const gg_site *site) {
    char key[GG_EXPLANATION_KEY];
    gg_arena *arena = gg_arena_new();
    bool known = gg_explanation_key(key, gg_explain_subject(tree, site, by->torch, arena), by->model);
    gg_arena_free(arena);
    return known && snprintf(out, PATH_MAX, "%s/.graphglue/" FOLDER "/%s.json", by->root, key) < PATH_MAX;
}

bool gg_explanation_find(gg_str *out, const gg_explained_by *by, const gg_tree *tree, const gg_site *site,
                         gg_arena *arena) {
    char path[PATH_MAX];
    struct stat info;
    if (!path_of(path, by, tree, site) || stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size > MAX_RECORD_BYTES)
        return false;
    json_t *record = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *of = json_string_value(json_object_get(record, "model")),
               *id = json_string_value(json_object_get(record, "id")),
               *text = json_string_value(json_object_get(record, "explanation"));
    bool found = of && strcmp(of, by->model) == 0 && id && gg_str_is(site->id, id) && text &&
                 gg_explanation_accept(out, gg_str_from(text), tree, site, arena, NULL) == 0;
    json_decref(record);
    return found;
}

void gg_explanation_keep(const gg_explained_by *by, const gg_tree *tree, const gg_site *site, gg_str text) {
    char path[PATH_MAX];
    if (!path_of(path, by, tree, site)) return;
    json_t *record = json_pack("{s:s, s:s%, s:s%}", "model", by->model, "id", site->id.ptr, site->id.len, "explanation",
                               text.ptr, text.len);
    char *bytes = record ? json_dumps(record, JSON_COMPACT) : NULL;
    if (bytes) gg_state_record_keep(by->root, FOLDER, path, gg_str_from(bytes), MAX_RECORDS);
    free(bytes);
    json_decref(record);
}
