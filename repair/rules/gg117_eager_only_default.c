/* GG117 eager-only-default: `if mask is None and not torch.compiler.is_compiling(): mask = …` leaves None to what is compiled, and what reads it behind
 * raises while it is traced, so that the whole function runs uncompiled, where it is no longer None.
 * Offers: `if mask is None:`.  Refuses: unless what raises reads the name, and the branch only gives it a value.
 * Safety: exact.  Page: docs/rules/GG117.md */
#include "repair/select.h"

typedef struct guard {
    TSNode statement, first, last; /* the if; `mask is None`; `not torch.compiler.is_compiling()` */
} guard;

/* Is the name one that a statement imports, from wherever? */
static bool is_imported(const gg_tree *tree, TSNode name) {
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode statement = gg__child(root, i);
        if (gg_node_is(statement, "import_from_statement") && gg__binds(tree, statement, gg__text(tree, name)))
            return !gg__is_local(tree, name, gg__text(tree, name));
    }
    return false;
}

/* `not torch.compiler.is_compiling()`; transformers' is_torchdynamo_compiling is the same by another name. */
static bool asks_for_eager(const gg_tree *tree, TSNode node) {
    static const char *const paths[] = {"torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling",
                                        "torch._dynamo.is_compiling", "torch._dynamo.external_utils.is_compiling"};
    TSNode call = gg__strip_parentheses(gg__field(gg__strip_parentheses(node), "argument"));
    TSNode function = gg__field(call, "function");
    if (!gg_node_is(gg__strip_parentheses(node), "not_operator") || !gg_node_is(call, "call") ||
        gg__child_count(gg__field(call, "arguments")))
        return false;
    for (size_t i = 0; i < GG_COUNT(paths); i++)
        if (gg__refers_to(tree, function, paths[i])) return true;
    return gg_str_is(gg__text(tree, function), "is_torchdynamo_compiling") && is_imported(tree, function);
}

/* `mask is None` */
static bool asks_for_none(const gg_tree *tree, TSNode node, gg_str *name) {
    TSNode comparison = gg__strip_parentheses(node), left = gg__child(comparison, 0);
    if (!gg_node_is(comparison, "comparison_operator") || gg__child_count(comparison) != 2 ||
        !gg_node_is(left, "identifier") || !gg_node_is(gg__child(comparison, 1), "none") ||
        !gg_str_is(gg__text(tree, ts_node_child(comparison, 1)), "is"))
        return false;
    *name = gg__text(tree, left);
    return true;
}

/* Does the branch give values to names, among them this one, and nothing else? */
static bool only_assigns(const gg_tree *tree, TSNode block, gg_str name) {
    bool found = false;
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode assignment = gg__assignment(gg__child(block, i));
        if (gg_node_is(gg__child(block, i), "comment")) continue;
        if (ts_node_is_null(assignment)) return false;
        found = found || gg_str_equal(gg__text(tree, gg__field(assignment, "left")), name);
    }
    return found;
}

static bool is_guard(const gg_tree *tree, TSNode statement, TSNode site, guard *out) {
    TSNode condition = gg__field(statement, "condition"), left = gg__field(condition, "left"),
           right = gg__field(condition, "right");
    gg_str name;
    *out = (guard){statement, left, right};
    return gg_node_is(statement, "if_statement") && ts_node_is_null(gg__field(statement, "alternative")) &&
           gg_node_is(condition, "boolean_operator") &&
           gg_str_is(gg__text(tree, gg__field(condition, "operator")), "and") && asks_for_none(tree, left, &name) &&
           asks_for_eager(tree, right) && gg__reads(tree, site, name) &&
           only_assigns(tree, gg__field(statement, "consequence"), name) &&
           !gg__has_comment(tree, gg_node_span(condition));
}

/* In front of what raises, in its block or one around it. */
static bool find(const gg_rule_input *in, guard *out) {
    TSNode site = gg__statement(gg_node_at(in->tree, in->span));
    if (!gg_str_is(in->site->id, "GB0088") || ts_node_is_null(site)) return false;
    for (TSNode at = site; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at))
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before))
            if (is_guard(in->tree, before, site, out)) return true;
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    guard g;
    if (!find(in, &g)) return false;
    out->node = g.statement;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    guard g;
    (void)match, (void)arena;
    if (!find(in, &g)) return gg_fail(err, GG_ENOMATCH, "nothing is only given a value where nothing is compiled");
    gg_edits_add(out, (gg_span){ts_node_end_byte(g.first), ts_node_end_byte(g.last)}, GG_STR(""));
    return 0;
}

const gg_rule gg_rule_eager_only_default = {
    .code = "GG117",
    .name = "eager-only-default",
    .title = "Give the default while compiling, too",
    .safety = GG_SAFETY_EXACT,
    .deliberate = true,
    .check = check,
    .edit = edit,
};
