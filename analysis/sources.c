/* gg_sources: texts and trees by absolute path, open buffers before the disk, each read and parsed once.
 * Threads: one owner at a time. */
#include "analysis/private.h"

typedef struct source {
    char *path;
    size_t path_len;
    gg_tree *tree;        /* NULL: it could not be read or parsed … */
    gg_error error;       /* … for this reason, which later callers get too */
    gg_arena *predicting; /* of `predicted`; NULL: not asked for */
    gg_prediction_list predicted;
} source;

struct gg_sources {
    GG_LIST(source) list;
};

gg_sources *gg_sources_new(void) {
    return gg_calloc(1, sizeof(gg_sources));
}

void gg_sources_free(gg_sources *sources) {
    if (sources == NULL) return;
    for (size_t i = 0; i < sources->list.len; i++) {
        gg_free(sources->list.items[i].path);
        gg_tree_unref(&sources->list.items[i].tree);
        gg_arena_free(sources->list.items[i].predicting);
    }
    gg_list_clear(&sources->list);
    gg_free(sources);
}

static source *find(gg_sources *sources, gg_str path) {
    for (size_t i = 0; i < sources->list.len; i++) {
        source *s = &sources->list.items[i];
        if (gg_str_equal((gg_str){s->path, s->path_len}, path)) return s;
    }
    return NULL;
}

static source *find_or_add(gg_sources *sources, gg_str path) {
    source *found = find(sources, path);
    if (found != NULL) return found;
    gg_list_push(&sources->list, ((source){.path = gg_str_dup(path), .path_len = path.len}));
    return &sources->list.items[sources->list.len - 1];
}

static void take_tree(source *s, gg_tree *tree) {
    gg_tree_unref(&s->tree);
    gg_arena_free(s->predicting);
    s->predicting = NULL;
    s->tree = tree;
}

static void parse_into(source *s, const gg_text *text) {
    gg_tree *tree = NULL;
    s->error.code = gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, &s->error);
    take_tree(s, tree);
}

void gg_sources_put(gg_sources *sources, gg_str path, const gg_text *text, const gg_tree *tree_or_null) {
    source *s = find_or_add(sources, path);
    if (tree_or_null == NULL) {
        parse_into(s, text);
        return;
    }
    take_tree(s, gg_tree_ref(tree_or_null));
}

const gg_tree *gg_sources_tree(gg_sources *sources, gg_str path, gg_error *err) {
    source *s = find(sources, path);
    if (s == NULL) {
        gg_text *text = NULL;
        s = find_or_add(sources, path);
        s->error.code = gg_text_read(&text, s->path, &s->error);
        if (text != NULL) parse_into(s, text);
        gg_text_unref(&text);
    }
    if (s->tree == NULL) gg_fail(err, s->error.code, "%s", s->error.message);
    return s->tree;
}

const gg_prediction_list *gg_sources_predictions(gg_sources *sources, gg_str path) {
    static const gg_prediction_list none = {0};
    const gg_tree *tree = gg_sources_tree(sources, path, NULL);
    source *s = find(sources, path);
    if (tree == NULL || s == NULL) return &none;
    if (s->predicting == NULL) {
        s->predicting = gg_arena_new();
        s->predicted = gg_predict(tree, s->predicting);
    }
    return &s->predicted;
}

gg_str gg_sources_rule(gg_sources *sources, gg_str path, gg_span span, gg_str id) {
    const gg_prediction_list *list = gg_sources_predictions(sources, path);
    for (size_t i = 0; i < list->len; i++) {
        const gg_prediction *p = &list->items[i];
        if (gg_str_equal(p->id, id) && p->span.start <= span.end && p->span.end >= span.start) return p->rule;
    }
    return GG_STR_NULL;
}
