/* GG057 unused-call: a counter of memory, a thread or the like is asked for, and nobody uses it; Dynamo skips the call all the same.
 * Offers: to delete the statement.  Refuses: unless the function is certainly one that only looks and
 * cannot fail, its arguments are names, and the name it is kept under is never read.  Safety: exact.  Page: docs/rules/GG057.md */
#include "repair/texts.h"

typedef struct use_search {
    const gg_tree *tree;
    gg_str name;
    TSNode target;
} use_search;

/* Anything else of that name, a binding too (a `global` declaration, a `del`), or a look at all names at once. */
static bool is_no_use(TSNode node, void *data) {
    const use_search *s = data;
    if (!gg_node_is(node, "identifier") || ts_node_eq(node, s->target)) return true;
    gg_str text = gg__text(s->tree, node);
    static const char *const all[] = {"locals", "vars", "eval", "exec", "dir"};
    for (size_t i = 0; i < GG_COUNT(all); i++)
        if (gg_str_is(text, all[i])) return false;
    return !gg_str_equal(text, s->name);
}

/* A local name that only this statement speaks of. */
static bool is_unused(const gg_tree *tree, TSNode target) {
    TSNode function = gg__function(target);
    use_search s = {tree, gg__text(tree, target), target};
    return gg_node_is(function, "function_definition") && gg__visit(function, is_no_use, &s);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), value = gg__child(statement, 0);
    out->node = statement;
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    if (gg_node_is(value, "assignment")) {
        TSNode target = gg__field(value, "left");
        if (!gg_node_is(target, "identifier") || !is_unused(in->tree, target)) return false;
        value = gg__field(value, "right");
    }
    for (TSNode at = gg__parent(statement); !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (ts_node_is_null(at) || gg_node_is(at, "class_definition")) return false;
    return gg_node_is(value, "call") && gg__looks_without_fail(in->tree, value);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)arena, (void)err;
    gg__delete_statement(in->tree, match->node, out);
    return 0;
}

const gg_rule gg_rule_unused_call = {
    .code = "GG057",
    .name = "unused-call",
    .title = "Delete the call whose value nobody uses",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
