/* Where a setting of Dynamo goes.  See syntax.h.
 *
 * A setting holds for the whole process from the moment it is made, and Dynamo reads it when a function is first called.  torch.compile takes
 * none of them as an option, and a wrapper that sets one for the time of a call would itself be traced: hence a statement of the module. */
#include "repair/syntax.h"

typedef struct search {
    const gg_tree *tree;
    gg_str name;
} search;

static bool is_another(TSNode node, void *data) {
    const search *s = data;
    return !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(s->tree, node), s->name);
}

static bool is_definition(TSNode node) {
    return gg_node_is(node, "function_definition") || gg_node_is(node, "class_definition") ||
           gg_node_is(node, "decorated_definition");
}

static bool is_import(TSNode node) {
    return gg_node_is(node, "import_statement") || gg_node_is(node, "import_from_statement");
}

static gg_str alias_of(const gg_tree *tree) {
    return gg__module_alias(tree, gg_tree_root(tree), "torch");
}

/* The import behind which torch is known and no other follows before the first definition; null node when there is none. */
static TSNode last_import(const gg_tree *tree) {
    gg_str alias = alias_of(tree);
    TSNode root = gg_tree_root(tree), found = {0};
    bool known = false;
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode child = gg__child(root, i);
        if (known && is_definition(child)) break;
        if (!is_import(child)) continue;
        known = known || gg__binds(tree, child, alias);
        if (known) found = child;
    }
    return found;
}

bool gg__has_id(const gg_rule_input *in, const char *const *ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_is(in->site->id, ids[i])) return true;
    return false;
}

bool gg__can_set(const gg_tree *tree, const char *name) {
    search s = {tree, gg_str_from(name)};
    TSNode root = gg_tree_root(tree);
    if (!gg__visit(root, is_another, &s)) return false;
    if (alias_of(tree).len) return !ts_node_is_null(last_import(tree));
    return gg__can_name(tree, root, "torch");
}

bool gg__is_set(const gg_tree *tree, const char *name) {
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode assignment = gg__child(gg__child(root, i), 0);
        if (gg_node_is(assignment, "assignment") && gg_node_is(gg__field(assignment, "right"), "true") &&
            gg_str_is(gg__text(tree, gg__field(gg__field(assignment, "left"), "attribute")), name))
            return true;
    }
    return false;
}

static bool sets_another(const gg_tree *tree, TSNode statement, gg_str torch) {
    gg_str text = gg__text(tree, statement), config = GG_STR("._dynamo.config.");
    return gg_node_is(statement, "expression_statement") && gg_str_starts_with(text, torch) &&
           gg_str_starts_with(gg_str_slice(text, torch.len, text.len), config);
}

typedef struct compile_search {
    const gg_tree *tree;
    gg_str torch;
} compile_search;

/* Bodies of functions are looked into too: what is compiled there is called later still, and no harm is done. */
static bool is_no_compile(TSNode node, void *data) {
    const compile_search *s = data;
    return !gg_node_is(node, "attribute") || !gg_str_is(gg__text(s->tree, gg__field(node, "attribute")), "compile") ||
           !gg_str_equal(gg__text(s->tree, gg__field(node, "object")), s->torch);
}

/* Does the statement, when the module is imported, hand something to torch.compile? */
static bool compiles(const gg_tree *tree, TSNode statement, gg_str torch) {
    compile_search s = {tree, torch};
    if (gg_node_is(statement, "expression_statement")) return !gg__visit(statement, is_no_compile, &s);
    for (uint32_t i = 0; gg_node_is(statement, "decorated_definition") && i < gg__child_count(statement); i++) {
        TSNode child = gg__child(statement, i);
        if (gg_node_is(child, "decorator") && !gg__visit(child, is_no_compile, &s)) return true;
    }
    return false;
}

/* The end of the statement's line, behind a comment on it. */
static uint32_t line_end(TSNode statement) {
    TSNode next = ts_node_next_sibling(statement);
    bool same = gg_node_is(next, "comment") && ts_node_start_point(next).row == ts_node_end_point(statement).row;
    return same ? ts_node_end_byte(next) : ts_node_end_byte(statement);
}

void gg__set(const gg_tree *tree, const char *name, gg_str member, gg_arena *arena, gg_edits *edits) {
    gg_str torch = alias_of(tree), newline = gg__newline(tree);
    gg_str target = gg_arena_printf(arena, "%.*s._dynamo.config.%s", torch.len ? (int)torch.len : 5,
                                    torch.len ? torch.ptr : "torch", name);
    gg_str text = member.len ? gg_arena_printf(arena, "%.*s.add(%.*s)", GG_STR_ARG(target), GG_STR_ARG(member))
                             : gg_arena_printf(arena, "%.*s = True", GG_STR_ARG(target));
    edits->setting = (gg_setting){name, member};
    TSNode root = gg_tree_root(tree), behind = {0}, before = {0};
    for (uint32_t i = 0; torch.len && i < gg__child_count(root); i++) {
        TSNode child = gg__child(root, i);
        if (sets_another(tree, child, torch)) behind = child;
        if (ts_node_is_null(before) && compiles(tree, child, torch)) before = child;
    }
    if (!ts_node_is_null(behind)) {
        uint32_t at = line_end(behind);
        gg_edits_add(edits, (gg_span){at, at},
                     gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(text)));
    } else if (!ts_node_is_null(before) && gg__starts_line(tree, ts_node_start_byte(before))) {
        uint32_t at = ts_node_start_byte(before);
        gg_str more = is_definition(before)
                          ? gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(newline))
                          : GG_STR_NULL;
        gg_edits_add(edits, (gg_span){at, at},
                     gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(text), GG_STR_ARG(newline), GG_STR_ARG(more)));
    } else {
        TSNode import = last_import(tree);
        if (ts_node_is_null(import)) { /* both in one edit, since both belong in one place */
            gg__require_module(tree, root, "torch", arena, edits);
            gg_edit *edit = &edits->list.items[edits->list.len - 1];
            bool first = gg_str_ends_with(edit->text, newline);
            edit->text = gg_arena_printf(arena, "%.*s%.*s%.*s%.*s%.*s", GG_STR_ARG(edit->text), GG_STR_ARG(newline),
                                         GG_STR_ARG(first ? GG_STR_NULL : newline), GG_STR_ARG(text),
                                         GG_STR_ARG(first ? newline : GG_STR_NULL));
            return;
        }
        uint32_t at = line_end(import);
        gg_edits_add(
            edits, (gg_span){at, at},
            gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(newline), GG_STR_ARG(text)));
    }
}
