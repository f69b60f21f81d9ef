/* GG031 unused-number: a number, or a list of them, is taken out of a tensor and nobody reads it.
 * Offers: to delete the statement.  Refuses: unless the tensor's expression is proven pure, the name occurs nowhere else in the function, and
 * taking the number out cannot raise.
 * Safety: exact.  Page: docs/rules/GG031.md */
#include "repair/scalar.h"

/* E.tolist(), E.item() and the like, of a proven tensor. */
static bool is_taken(const gg_rule_input *in, TSNode call) {
    gg__extraction e;
    if (gg__match_extraction(in, call, &e)) return true;
    TSNode function = gg__field(call, "function");
    return gg_node_is(function, "attribute") && gg__child_count(gg__field(call, "arguments")) == 0 &&
           gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "tolist") &&
           gg__infer(in, gg__field(function, "object")).sort == GG__TENSOR;
}

typedef struct search {
    const gg_tree *tree;
    gg_str name;
    uint32_t bound;
} search;

static bool is_another(TSNode node, void *data) {
    const search *s = data;
    if (!gg_node_is(node, "identifier") || ts_node_start_byte(node) == s->bound || gg__is_member_name(node))
        return true;
    return !gg__watches_names(s->tree, node) && !gg_str_equal(gg__text(s->tree, node), s->name);
}

static bool find(const gg_rule_input *in, TSNode *statement) {
    TSNode call = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(call) && !gg_node_is(call, "call")) call = gg__parent(call);
    if (ts_node_is_null(call) || in->site->first == NULL || !is_taken(in, call)) return false;
    TSNode parent = gg__parent(call), function = gg__function(call), left = gg__field(parent, "left");
    *statement = gg__statement(call);
    if (gg_node_is(parent, "expression_statement")) return gg__child_count(parent) == 1;
    if (!gg_node_is(parent, "assignment") || !gg_node_is(left, "identifier") ||
        !gg_node_is(gg__parent(parent), "expression_statement") || !gg_node_is(function, "function_definition") ||
        !ts_node_eq(gg__field(parent, "right"), call))
        return false;
    search s = {in->tree, gg__text(in->tree, left), ts_node_start_byte(left)};
    return gg__visit(function, is_another, &s);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    bool id = gg_str_is(in->site->id, "GB0124") || gg_str_is(in->site->id, "GB0033");
    return id && find(in, &out->node) && !gg__has_comment(in->tree, gg_node_span(out->node));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)arena, (void)err;
    gg__delete_statement(in->tree, match->node, out);
    return 0;
}

const gg_rule gg_rule_unused_number = {
    .code = "GG031",
    .name = "unused-number",
    .title = "Delete the number that nobody reads",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
