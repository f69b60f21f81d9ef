/* GG032 numpy-product: `np.prod(x.shape)` makes a NumPy number, which a graph has as a tensor: no size, and nothing int() takes.
 * Offers: math.prod, where a size is wanted.  Refuses: what is not a tensor's shape, further arguments, and an empty shape, of which NumPy makes 1.0,
 * unless int() is called on it.
 * Safety: exact.  Page: docs/rules/GG032.md */
#include "repair/scalar.h"

#include <string.h>

/* `x.shape`, `x.size()`, and `[1:]` of them; how many sizes there are. */
static bool is_shape(const gg_rule_input *in, TSNode node, int32_t *out_count) {
    const gg_tree *tree = in->tree;
    TSNode slice = {0};
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "subscript")) {
        slice = gg__field(node, "subscript");
        if (!gg_node_is(slice, "slice") || gg__child_count(node) != 2) return false;
        node = gg__field(node, "value");
    }
    if (gg_node_is(node, "call")) {
        if (gg__child_count(gg__field(node, "arguments"))) return false;
        node = gg__field(node, "function");
        if (!gg_str_is(gg__text(tree, gg__field(node, "attribute")), "size")) return false;
    } else if (!gg_str_is(gg__text(tree, gg__field(node, "attribute")), "shape")) {
        return false;
    }
    gg__meta x = gg__infer(in, gg__field(node, "object"));
    *out_count = x.rank;
    if (ts_node_is_null(slice)) return x.sort == GG__TENSOR;
    gg_str text = gg__text(tree, slice);
    size_t colon = gg_str_find(text, GG_STR(":"), 0);
    for (uint32_t i = 0; i < gg__child_count(slice); i++) {
        double at = 0;
        TSNode bound = gg__child(slice, i);
        if (!gg__literal_value(tree, bound, &at) || gg_node_is(bound, "float")) return false;
        int32_t position = (int32_t)(at < 0 ? at + x.rank : at);
        bool upper = ts_node_start_byte(bound) > ts_node_start_byte(slice) + colon;
        if (position < 0 || position > x.rank) return false;
        *out_count += upper ? position - x.rank : -position;
    }
    return x.sort == GG__TENSOR && gg__child_count(slice) <= 2 && colon != SIZE_MAX &&
           gg_str_find(text, GG_STR(":"), colon + 1) == SIZE_MAX;
}

/* A method or function of torch all of whose positional numbers are sizes. */
static bool takes_sizes(const gg_rule_input *in, TSNode node) {
    static const char *const names[] = {"reshape", "view", "expand", "new_zeros", "new_ones", "new_empty",
                                        "zeros",   "ones", "empty",  "rand",      "randn"};
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "tuple") || gg_node_is(parent, "list")) parent = gg__parent(parent);
    TSNode function = gg__field(gg__parent(parent), "function");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    bool listed = false;
    for (size_t i = 0; i < GG_COUNT(names); i++) listed = listed || gg_str_is(name, names[i]);
    TSNode object = gg__field(function, "object");
    return gg_node_is(parent, "argument_list") && listed &&
           (gg__refers_to(in->tree, object, "torch") || gg__infer(in, object).sort == GG__TENSOR);
}

typedef struct search {
    const gg_rule_input *in;
    TSNode product, whole; /* np.prod(…); what is replaced: it, or int() of it */
} search;

static bool is_no_product(TSNode node, void *data) {
    search *s = data;
    const gg_tree *tree = s->in->tree;
    TSNode arguments = gg__field(node, "arguments");
    int32_t count = 0;
    if (!gg_node_is(node, "call") || !gg__refers_to(tree, gg__field(node, "function"), "numpy.prod") ||
        !gg_node_is(arguments, "argument_list") || gg__child_count(arguments) != 1 ||
        !is_shape(s->in, gg__child(arguments, 0), &count))
        return true;
    TSNode call = gg__parent(gg__parent(node));
    bool whole = gg_node_is(call, "call") && gg__names_builtin(tree, gg__field(call, "function"), "int") &&
                 gg__child_count(gg__field(call, "arguments")) == 1;
    if (!whole && (count < 1 || !takes_sizes(s->in, node))) return true;
    s->product = node;
    s->whole = whole ? call : node;
    return false;
}

static bool find(const gg_rule_input *in, TSNode *out, TSNode *product) {
    search s = {.in = in};
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "call");
    if (ts_node_is_null(at) || in->site->first == NULL || gg__visit(at, is_no_product, &s)) return false;
    *out = s.whole;
    *product = s.product;
    return !gg__has_comment(in->tree, gg_node_span(s.whole)) && gg__can_name(in->tree, s.whole, "math");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode product;
    return find(in, &out->node, &product);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node, product;
    if (!find(in, &node, &product)) return gg_fail(err, GG_ENOMATCH, "this is not proven to be the product of a shape");
    gg_str math = gg__require_module(in->tree, node, "math", arena, out);
    gg_str shape = gg__text(in->tree, gg__child(gg__field(product, "arguments"), 0));
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.prod(%.*s)", GG_STR_ARG(math), GG_STR_ARG(shape)));
    return 0;
}

const gg_rule gg_rule_numpy_product = {
    .code = "GG032",
    .name = "numpy-product",
    .title = "Multiply the sizes with math.prod",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
