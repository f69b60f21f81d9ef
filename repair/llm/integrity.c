/* What a model may not do to make a verdict come out well.  Any thread.  See gg_llm.h. */
#include "repair/llm/exchange.h"

static bool is_import(TSNode node) {
    return gg_node_is(node, "import_statement") || gg_node_is(node, "import_from_statement") ||
           gg_node_is(node, "future_import_statement");
}

/* The module's statement at *i or behind it, but for imports, comments and the one that holds `but`. */
static TSNode next_kept(TSNode root, uint32_t *i, TSNode but) {
    for (; *i < gg__child_count(root); (*i)++) {
        TSNode child = gg__child(root, *i);
        bool holds = !ts_node_is_null(but) && gg__covers(child, gg_node_span(but));
        if (!holds && !is_import(child) && !gg_node_is(child, "comment")) return gg__child(root, (*i)++);
    }
    return (TSNode){0};
}

gg_cheat gg_integrity_check(const gg_tree *before, const gg_tree *after, gg_span definition, gg_arena *arena) {
    TSNode own = gg_node_at(before, definition), changed = gg__definition_after(after, before, definition);
    TSNode a = gg_tree_root(before), b = gg_tree_root(after);
    for (uint32_t i = 0, k = 0;;) {
        TSNode x = next_kept(a, &i, own), y = next_kept(b, &k, changed);
        if (ts_node_is_null(x) && ts_node_is_null(y)) break;
        if (!gg_str_equal(gg__text(before, x), gg__text(after, y)))
            return (gg_cheat){"outside", gg_arena_str(arena, GG_STR("code outside the given definition changed"))};
    }
    return (gg_cheat){0};
}
