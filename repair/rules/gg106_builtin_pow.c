/* GG106 builtin-pow: pow(a, b) with a tensor, a builtin that Dynamo does not trace; the operator is the same.
 * Offers: `a ** b`.  Refuses: three arguments, and any other pow.  Safety: exact.  Page: docs/rules/GG106.md */
#include "repair/masks.h"
#include "repair/syntax.h"

static gg_str operand(const gg_rule_input *in, TSNode node, gg_arena *arena) {
    bool number = gg_node_is(node, "integer") || gg_node_is(node, "float");
    return number ? gg__text(in->tree, node) : gg__operand_text(in, node, arena);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), arguments = gg__field(call, "arguments");
    out->node = call;
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list") || gg__child_count(arguments) != 2 ||
        !gg__names_builtin(in->tree, gg__field(call, "function"), "pow"))
        return false;
    return gg__is_positional(gg__child(arguments, 0)) && gg__is_positional(gg__child(arguments, 1)) &&
           !gg__has_comment(in->tree, gg_node_span(call));
}

/* Would what stands around `a ** b` take a part of it? */
static bool needs_parentheses(const gg_tree *tree, TSNode call) {
    static const char *const types[] = {"attribute", "subscript", "await", "call"};
    TSNode parent = gg__parent(call);
    if (gg_node_is(parent, "binary_operator"))
        return gg_str_is(gg__text(tree, gg__field(parent, "operator")), "**") &&
               ts_node_eq(gg__field(parent, "left"), call);
    return gg__is_one_of(gg_str_from(ts_node_type(parent)), types, GG_COUNT(types));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode arguments = gg__field(match->node, "arguments");
    gg_str base = operand(in, gg__child(arguments, 0), arena), exponent = operand(in, gg__child(arguments, 1), arena);
    bool around = needs_parentheses(in->tree, match->node);
    (void)err;
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%s%.*s ** %.*s%s", around ? "(" : "", GG_STR_ARG(base), GG_STR_ARG(exponent),
                                 around ? ")" : ""));
    return 0;
}

const gg_rule gg_rule_builtin_pow = {
    .code = "GG106",
    .name = "builtin-pow",
    .title = "Use the operator",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
