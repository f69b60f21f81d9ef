/* What a model may not do to make a verdict come out well.  Any thread.  See gg_llm.h, integrity.h and docs/repair-agent.md. */
#include "repair/llm/integrity.h"

enum {
    MORE_WATCHED = 3
}; /* statements that a handler which was there may watch beside its own: a repair may take more of them than it had */

static gg_cheat told(gg__cheat cheat, gg_str shown, gg_arena *arena) {
    static const struct {
        const char *name, *words;
    } rows[] = {
        {NULL, ""},
#define CHEAT(id, name, words) {name, words},
#include "repair/llm/cheats.def"
#undef CHEAT
    };
    if (cheat == GG__CHEAT_OK) return (gg_cheat){0};
    shown = gg_str_trim(gg_str_slice(shown, 0, gg_str_find(shown, GG_STR("\n"), 0)));
    shown = gg_str_slice(shown, 0, 200);
    shown.len = gg_utf8_valid_prefix(shown);
    return (gg_cheat){rows[cheat].name, gg_arena_printf(arena, "%s%s%.*s%s", rows[cheat].words, shown.len ? ": `" : "",
                                                        GG_STR_ARG(shown), shown.len ? "`" : "")};
}

static bool is_import(TSNode node) {
    return gg_node_is(node, "import_statement") || gg_node_is(node, "import_from_statement") ||
           gg_node_is(node, "future_import_statement");
}

/* ---- outside the definition ------------------------------------------------------------------------------------------------ */

/* The module's statement at *i or behind it, but for imports, comments and the one that holds `but`. */
static TSNode next_kept(TSNode root, uint32_t *i, TSNode but) {
    for (; *i < gg__child_count(root); (*i)++) {
        TSNode child = gg__child(root, *i);
        bool holds = !ts_node_is_null(but) && gg__covers(child, gg_node_span(but));
        if (!holds && !is_import(child) && !gg_node_is(child, "comment")) return gg__child(root, (*i)++);
    }
    return (TSNode){0};
}

/* The statement of the module that the definition lies in: but for the definition the same, byte for byte. */
static bool same_around(const gg__look *before, const gg__look *after) {
    TSNode a = before->definition, b = after->definition;
    while (!ts_node_is_null(a) && !gg_node_is(gg__parent(a), "module")) a = gg__parent(a);
    while (!ts_node_is_null(b) && !gg_node_is(gg__parent(b), "module")) b = gg__parent(b);
    if (ts_node_is_null(a) || ts_node_is_null(b)) return false;
    gg_span x = gg_node_span(a), y = gg_node_span(b), dx = gg_node_span(before->definition),
            dy = gg_node_span(after->definition);
    const gg_text *s = gg_tree_text(before->tree), *t = gg_tree_text(after->tree);
    return gg_str_equal(gg_text_slice(s, (gg_span){x.start, dx.start}),
                        gg_text_slice(t, (gg_span){y.start, dy.start})) &&
           gg_str_equal(gg_text_slice(s, (gg_span){dx.end, x.end}), gg_text_slice(t, (gg_span){dy.end, y.end}));
}

static gg__cheat compare_outside(const gg__look *before, const gg__look *after, gg_str *shown) {
    TSNode a = gg_tree_root(before->tree), b = gg_tree_root(after->tree);
    if (ts_node_is_null(before->definition)) return GG__CHEAT_OUTSIDE;
    if (ts_node_is_null(after->definition)) return GG__CHEAT_DELETES;
    for (uint32_t i = 0, k = 0;;) {
        TSNode x = next_kept(a, &i, before->definition), y = next_kept(b, &k, after->definition);
        if (ts_node_is_null(x) && ts_node_is_null(y)) break;
        *shown = gg__text(after->tree, ts_node_is_null(y) ? b : y);
        if (!gg_str_equal(gg__text(before->tree, x), gg__text(after->tree, y))) return GG__CHEAT_OUTSIDE;
    }
    *shown = GG_STR_NULL;
    return same_around(before, after) ? GG__CHEAT_OK : GG__CHEAT_OUTSIDE;
}

/* ---- imports ------------------------------------------------------------------------------------------------------------------ */

static gg_str head_of(gg_str path) {
    return gg_str_slice(path, 0, gg_str_find(path, GG_STR("."), 0));
}

static bool has_import(const gg__look *look, gg__import import) {
    for (size_t i = 0; i < look->imports.len; i++)
        if (gg_str_equal(look->imports.items[i].name, import.name) &&
            gg_str_equal(look->imports.items[i].path, import.path))
            return true;
    return false;
}

static bool may_import(const gg__look *before, gg_str path) {
    static const char *const modules[] = {"torch", "math", "typing", "__future__"};
    if (gg__is_one_of(head_of(path), modules, GG_COUNT(modules))) return true;
    for (size_t i = 0; i < before->imports.len && head_of(path).len; i++)
        if (gg_str_equal(head_of(before->imports.items[i].path), head_of(path))) return true;
    return false;
}

static bool find_star(TSNode node, void *data) {
    uint32_t *count = data;
    *count += gg_node_is(node, "wildcard_import");
    return true;
}

static gg__cheat compare_imports(const gg__look *before, const gg__look *after, gg_str *shown) {
    uint32_t stars = 0, stars_now = 0;
    gg__visit(gg_tree_root(before->tree), find_star, &stars);
    gg__visit(gg_tree_root(after->tree), find_star, &stars_now);
    *shown = GG_STR("import *");
    if (stars_now != stars) return GG__CHEAT_IMPORTS;
    for (size_t i = 0; i < after->imports.len; i++) {
        gg__import import = after->imports.items[i];
        if (has_import(before, import)) continue;
        *shown = import.path;
        gg__cheat cheat = gg__judge_path(import.path);
        if (cheat) return cheat;
        if (!may_import(before, import.path)) return GG__CHEAT_IMPORTS;
        *shown = import.name;
        for (size_t k = 0; k < after->imports.len; k++) /* a module under the name of something else: which is asked? */
            if (k != i && gg_str_equal(after->imports.items[k].name, import.name) &&
                (import.module || after->imports.items[k].module))
                return GG__CHEAT_REBINDS;
        if (gg__is_bound_in_module(before->tree, import.name) && gg__is_bound_in_module(after->tree, import.name)) {
            for (size_t k = 0; k < before->imports.len; k++)
                if (gg_str_equal(before->imports.items[k].name, import.name)) return GG__CHEAT_REBINDS;
            TSNode definition = gg__inner(before->definition); /* a local `t = torch` takes nobody's name */
            if (!gg__binds(after->tree, after->definition, import.name) ||
                gg_str_equal(gg__definition_name(before->tree, definition), import.name))
                return GG__CHEAT_REBINDS;
        }
    }
    for (size_t i = 0; i < before->imports.len; i++) {
        *shown = before->imports.items[i].name;
        bool local = gg__binds(before->tree, before->definition, *shown);
        if (!local && !has_import(after, before->imports.items[i])) return GG__CHEAT_OUTSIDE;
    }
    return GG__CHEAT_OK;
}

/* ---- what is there more often ---------------------------------------------------------------------------------------------------- */

static void total(const gg__look *look, const gg__finding *like, uint32_t *count, uint64_t *weight) {
    *count = 0;
    *weight = 0;
    for (size_t i = 0; i < look->findings.len; i++) {
        const gg__finding *f = &look->findings.items[i];
        if (f->cheat != like->cheat || !gg_str_equal(f->key, like->key)) continue;
        ++*count;
        *weight += f->weight;
    }
}

/* The gravest, in the order of cheats.def. */
static gg__cheat compare_findings(const gg__look *before, const gg__look *after, gg_str *shown) {
    gg__cheat worst = GG__CHEAT_OK;
    for (size_t i = 0; i < after->findings.len; i++) {
        const gg__finding *f = &after->findings.items[i];
        uint32_t count, count_now;
        uint64_t weight, weight_now;
        total(before, f, &count, &weight);
        total(after, f, &count_now, &weight_now);
        uint64_t spare = f->cheat == GG__CHEAT_CATCHES && count_now == count ? (uint64_t)MORE_WATCHED * count : 0;
        if ((count && weight_now <= weight + spare) || (worst && worst <= f->cheat)) continue;
        *shown = f->key;
        worst = f->cheat;
    }
    return worst;
}

gg_cheat gg_integrity_check(const gg_tree *before, const gg_tree *after, gg_span definition, gg_arena *arena) {
    gg_str shown = GG_STR_NULL;
    gg__look a, b;
    gg__look_init(&a, before, gg_node_at(before, definition), arena);
    gg__look_init(&b, after, gg__definition_after(after, before, definition), arena);
    gg__cheat cheat = compare_outside(&a, &b, &shown);
    if (!cheat) cheat = compare_imports(&a, &b, &shown);
    if (!cheat) {
        gg__scan(&a);
        gg__scan(&b);
        cheat = compare_findings(&a, &b, &shown);
    }
    if (!cheat) cheat = gg__compare_shape(&a, &b, &shown);
    if (!cheat) cheat = gg__compare_layers(&a, &b, &shown);
    if (!cheat) cheat = gg__compare_flow(&a, &b, &shown);
    gg_cheat result = told(cheat, shown, arena);
    gg__look_clear(&a);
    gg__look_clear(&b);
    return result;
}
