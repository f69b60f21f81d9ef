/* GG112 parameter-made-inside: `gamma = nn.Parameter(torch.full((4,), 0.1))` in a forward pass makes a parameter that nobody trains.
 * Offers: the tensor itself.  Refuses: unless it is made there, is only computed with, and together with what requires gradients anyway.
 * Safety: exact.  Page: docs/rules/GG112.md */
#include "repair/gradients.h"
#include "repair/hindrance.h"

typedef struct born {
    TSNode call, value;
    bool free; /* requires_grad=False */
} born;

static bool makes(const gg_tree *tree, TSNode node, uint32_t depth);

static bool is_number(TSNode node) {
    return gg_node_is(node, "integer") || gg_node_is(node, "float");
}

/* `torch.ones(4)`, `x.new_zeros(4)`, `torch.ones(4).to(x.device)`, `torch.ones(4).mul(0.1)`: of no value that has a gradient. */
static bool call_makes(const gg_tree *tree, TSNode call, uint32_t depth) {
    static const char *const makers[] = {"torch.zeros",     "torch.ones",      "torch.full",      "torch.eye",
                                         "torch.rand",      "torch.randn",     "torch.tensor",    "torch.zeros_like",
                                         "torch.ones_like", "torch.full_like", "torch.rand_like", "torch.randn_like"};
    static const char *const methods[] = {"new_zeros", "new_ones", "new_full"},
                             *const moved[] = {"to", "view", "reshape"}, *const scaled[] = {"float",    "double",
                                                                                            "mul",      "div",
                                                                                            "add",      "sub",
                                                                                            "t",        "clone",
                                                                                            "unsqueeze"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (!gg_node_is(arguments, "argument_list")) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        gg_str key = gg__text(tree, gg__field(gg__child(arguments, i), "name"));
        if (gg_str_is(key, "requires_grad") || gg_str_is(key, "out")) return false;
        if (gg_node_is(gg__child(arguments, i), "dictionary_splat")) return false;
    }
    for (size_t i = 0; i < GG_COUNT(makers); i++)
        if (gg__refers_to(tree, function, makers[i])) return true;
    if (!gg_node_is(function, "attribute")) return false;
    if (gg__is_one_of(name, methods, GG_COUNT(methods))) return true;
    bool plain = gg__is_one_of(name, moved, GG_COUNT(moved)), scales = gg__is_one_of(name, scaled, GG_COUNT(scaled));
    for (uint32_t i = 0; scales && i < gg__child_count(arguments); i++) scales = is_number(gg__child(arguments, i));
    return (plain || scales) && makes(tree, gg__field(function, "object"), depth + 1);
}

static bool makes(const gg_tree *tree, TSNode node, uint32_t depth) {
    node = gg__strip_parentheses(node);
    if (depth > 8) return false;
    if (gg_node_is(node, "call")) return call_makes(tree, node, depth);
    if (gg_node_is(node, "unary_operator"))
        return gg_str_is(gg__text(tree, gg__field(node, "operator")), "-") &&
               makes(tree, gg__field(node, "argument"), depth + 1);
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    if (!gg_node_is(node, "binary_operator")) return false;
    if (is_number(left)) return makes(tree, right, depth + 1);
    return makes(tree, left, depth + 1) && (is_number(right) || makes(tree, right, depth + 1));
}

static bool reads(const gg_tree *tree, TSNode call, born *out) {
    TSNode arguments = gg__field(call, "arguments");
    uint32_t count = gg__child_count(arguments);
    *out = (born){.call = call};
    for (uint32_t i = 0; i < count; i++) {
        TSNode argument = gg__child(arguments, i), value = argument;
        bool keyword = gg_node_is(argument, "keyword_argument");
        if (keyword) value = gg__field(argument, "value");
        gg_str name = keyword ? gg__text(tree, gg__field(argument, "name")) : GG_STR_NULL;
        if (!keyword && !gg__is_positional(argument)) return false;
        if (keyword ? gg_str_is(name, "data") : i == 0) {
            out->value = value;
            continue;
        }
        bool said = gg_node_is(value, "true") || gg_node_is(value, "false");
        if (!said || (keyword ? !gg_str_is(name, "requires_grad") : i != 1)) return false;
        out->free = gg_node_is(value, "false");
    }
    return !ts_node_is_null(out->value);
}

static bool is_parameter(const gg_tree *tree, TSNode function) {
    return gg__refers_to(tree, function, "torch.nn.Parameter") ||
           gg__refers_to(tree, function, "torch.nn.parameter.Parameter");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span));
    born b;
    out->node = call;
    if (!gg_str_is(in->site->id, "GB0264") || !gg_node_is(call, "call") ||
        !gg_node_is(gg__field(call, "arguments"), "argument_list") ||
        !is_parameter(in->tree, gg__field(call, "function")) || !reads(in->tree, call, &b) ||
        !gg_node_is(gg__function(call), "function_definition"))
        return false;
    if (!makes(in->tree, b.value, 0))
        return gg__hinder(in, b.value,
                          "is not known to be made here: a parameter of it has no gradient that flows further");
    gg_span whole = gg_node_span(call), inner = gg_node_span(b.value);
    if (gg__has_comment(in->tree, (gg_span){whole.start, inner.start}) ||
        gg__has_comment(in->tree, (gg_span){inner.end, whole.end}))
        return gg__hinder(in, call, "a comment inside of it would be lost");
    return gg__is_only_computed_with(in, call, b.free);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    born b;
    (void)arena;
    if (!reads(in->tree, match->node, &b)) return gg_fail(err, GG_ENOMATCH, "it has other arguments");
    TSNode parent = gg__parent(match->node);
    bool apart = gg_node_is(parent, "assignment") || gg_node_is(parent, "argument_list") ||
                 gg_node_is(parent, "keyword_argument") || gg_node_is(parent, "parenthesized_expression");
    bool wrap = !apart && gg__is_operator(b.value);
    wrap = wrap || (!apart && gg_node_is(b.value, "unary_operator"));
    gg_span whole = gg_node_span(match->node), inner = gg_node_span(b.value);
    gg_edits_add(out, (gg_span){whole.start, inner.start}, wrap ? GG_STR("(") : GG_STR_NULL);
    gg_edits_add(out, (gg_span){inner.end, whole.end}, wrap ? GG_STR(")") : GG_STR_NULL);
    return 0;
}

const gg_rule gg_rule_parameter_made_inside = {
    .code = "GG112",
    .name = "parameter-made-inside",
    .title = "Compute with the tensor itself",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
