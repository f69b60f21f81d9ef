/* GG079 retained-gradient: `h.retain_grad()` asks autograd to keep a gradient, and nobody can read it.
 * Offers: to delete it.  Refuses: unless the tensor required gradients in the capture, was made in the function, and is only computed with:
 * whoever else gets it may read its gradient.
 * Safety: effects (the original raises where no gradients are recorded).  Page: docs/rules/GG079.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/scalar.h"

typedef struct uses {
    const gg_rule_input *in;
    TSNode function, target;
    gg_str name;
    uint32_t from, to;
    TSNode leaves; /* where the tensor may be handed on */
} uses;

static bool is_only_computed_with(TSNode node, void *data) {
    uses *u = data;
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(u->in->tree, node);
    bool same = gg_str_equal(text, u->name) && !gg__is_member_name(node);
    bool inner = gg__is_in_inner_function(node, u->function);
    u->leaves = node;
    if (gg__watches_names(u->in->tree, node)) return false;
    if (!same) return true;
    if (inner) return false;
    if (ts_node_start_byte(node) < u->from || ts_node_end_byte(node) > u->to) return true;
    if (gg__covers(u->target, gg_node_span(node))) return true;
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "global_statement") || gg_node_is(parent, "nonlocal_statement")) return false;
    return gg__is_binding(node) || gg__is_consumed(u->in, node);
}

static bool is_in_try(TSNode node) {
    for (TSNode at = gg__parent(node); !ts_node_is_null(at) && !gg_node_is(at, "function_definition");
         at = gg__parent(at))
        if (gg_node_is(at, "try_statement") || gg_node_is(at, "with_statement")) return true;
    return false;
}

/* Up to where the name is this tensor: the next assignment to it in the same block, when that is reached but once. */
static uint32_t lasts_to(const gg_rule_input *in, TSNode statement, gg_str name) {
    if (gg__runs_from(statement) != ts_node_start_byte(statement) || is_in_try(statement)) return UINT32_MAX;
    for (TSNode at = ts_node_next_named_sibling(statement); !ts_node_is_null(at); at = ts_node_next_named_sibling(at)) {
        TSNode inner = gg__child(at, 0), left = gg__field(inner, "left");
        if (gg_node_is(at, "expression_statement") && gg_node_is(inner, "assignment") &&
            gg_node_is(left, "identifier") && gg_str_equal(gg__text(in->tree, left), name))
            return ts_node_end_byte(at);
    }
    return UINT32_MAX;
}

static bool required_gradients(const gg_rule_input *in, gg_str name) {
    const gg_fact *fact = gg__fact_of(in, name);
    return fact && fact->kind == GG_VALUE_TENSOR && fact->requires_grad;
}

/* `if h.requires_grad:` around it goes with it. */
static TSNode with_its_condition(const gg_rule_input *in, TSNode statement) {
    TSNode block = gg__parent(statement), around = gg__parent(block), condition = gg__field(around, "condition");
    gg_str name = gg__text(in->tree, gg__field(gg__field(gg__child(statement, 0), "function"), "object"));
    bool asks = gg_node_is(around, "if_statement") && gg_node_is(condition, "attribute") &&
                gg_str_equal(gg__text(in->tree, gg__field(condition, "object")), name) &&
                gg_str_is(gg__text(in->tree, gg__field(condition, "attribute")), "requires_grad");
    return asks && ts_node_is_null(gg__field(around, "alternative")) && gg__statement_count(block) == 1 &&
                   !gg__has_comment(in->tree, gg_node_span(around))
               ? around
               : statement;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), call = gg__child(statement, 0);
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    gg_str name = gg__text(in->tree, object);
    out->node = statement;
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1 ||
        !gg_node_is(call, "call") || !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "retain_grad") ||
        gg__child_count(gg__field(call, "arguments")) > 0)
        return false;
    if (!gg_node_is(object, "identifier") || !required_gradients(in, name))
        return gg__hinder(in, object, "is no name of a tensor that requires gradients");
    if (gg__is_watched(in->tree, statement)) return gg__hinder(in, call, "code around it may catch what it raises");
    TSNode target = with_its_condition(in, statement);
    if (!gg__owns(in, target, name))
        return gg__hinder(in, object, "other code may hold the tensor, and read the gradient");
    uses u = {.in = in,
              .function = gg__function(statement),
              .target = target,
              .name = name,
              .from = gg__runs_from(target),
              .to = lasts_to(in, target, name)};
    if (!gg__visit(u.function, is_only_computed_with, &u))
        return gg__hinder(in, u.leaves, "the tensor may be handed on here, and its gradient read");
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)arena, (void)err;
    gg__delete_statement(in->tree, with_its_condition(in, match->node), out);
    return 0;
}

const gg_rule gg_rule_retained_gradient = {
    .code = "GG079",
    .name = "retained-gradient",
    .title = "Delete retain_grad(), whose gradient nobody can read",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
