/* Where a new import goes, and what else is new at module level.  See syntax.h. */
#include "repair/syntax.h"

static bool is_docstring(TSNode node) {
    return gg_node_is(node, "expression_statement") && gg_node_is(gg__child(node, 0), "string");
}

void gg__add_import(const gg_tree *tree, gg_str statement, gg_arena *arena, gg_edits *edits) {
    /* After the last of the imports that open the file, its docstring and `from __future__`. */
    TSNode root = gg_tree_root(tree), after = {0};
    bool first = true;
    uint32_t before = 0; /* the first statement that is neither: a file without imports gets its first one there */
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode child = gg__child(root, i);
        if (gg_node_is(child, "import_statement") || gg_node_is(child, "import_from_statement") ||
            gg_node_is(child, "future_import_statement") || (first && is_docstring(child)))
            after = child;
        else if (!gg_node_is(child, "comment")) {
            before = ts_node_start_byte(child);
            break;
        }
        first = first && gg_node_is(child, "comment");
    }
    gg_str newline = gg__newline(tree);
    if (ts_node_is_null(after)) {
        gg_edits_add(edits, (gg_span){before, before},
                     gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(statement), GG_STR_ARG(newline)));
    } else {
        uint32_t end = ts_node_end_byte(after);
        TSNode next = ts_node_next_sibling(after); /* a comment on its line stays there */
        if (gg_node_is(next, "comment") && ts_node_start_point(next).row == ts_node_end_point(after).row)
            end = ts_node_end_byte(next);
        gg_edits_add(edits, (gg_span){end, end},
                     gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(statement)));
    }
}

gg_str gg__require_module(const gg_tree *tree, TSNode at, const char *module, gg_arena *arena, gg_edits *edits) {
    gg_str alias = gg__module_alias(tree, at, module);
    if (alias.len) return alias;
    gg__add_import(tree, gg_arena_printf(arena, "import %s", module), arena, edits);
    return gg_str_from(module);
}

gg_str gg__free_name(const gg_tree *tree, const char *noun, gg_arena *arena) {
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    for (int i = 1; i < 100; i++) {
        gg_str name = i == 1 ? gg_arena_printf(arena, "%s", noun) : gg_arena_printf(arena, "%s_%d", noun, i);
        bool taken = false;
        for (size_t at = gg_str_find(all, name, 0); at != SIZE_MAX && !taken; at = gg_str_find(all, name, at + 1)) {
            size_t end = at + name.len;
            taken = (at == 0 || !gg__is_word(all.ptr[at - 1])) && (end == all.len || !gg__is_word(all.ptr[end]));
        }
        if (!taken) return name;
    }
    return GG_STR_NULL;
}

uint32_t gg__front_of_definition(TSNode node) {
    TSNode top = node, before;
    while (!gg_node_is(gg__parent(top), "module")) top = gg__parent(top);
    while (gg_node_is(before = ts_node_prev_named_sibling(top), "comment") &&
           ts_node_end_point(before).row + 1 == ts_node_start_point(top).row && ts_node_start_point(before).column == 0)
        top = before;
    return ts_node_start_byte(top);
}
