/* GG095 counted-place: bisect.bisect_left([1, 3, 7], n) searches in C, which Dynamo does not follow.
 * Offers: sum(b < n for b in [1, 3, 7]): in a sorted list the place is the number of what is below.
 * Refuses: unless the list has integers in their order, written there or held all along by a local name, and n is a number of Python's
 * that is a name, a literal or a size.  Safety: exact.  Page: docs/rules/GG095.md */
#include "repair/hindrance.h"
#include "repair/infer.h"

static const char *comparison(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    if (gg__refers_to(tree, function, "bisect.bisect_left")) return "<";
    bool right = gg__refers_to(tree, function, "bisect.bisect_right") || gg__refers_to(tree, function, "bisect.bisect");
    return right ? "<=" : NULL;
}

static bool is_sorted(const gg_rule_input *in, TSNode display) {
    double last = -0x1p53;
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        if (gg_node_is(gg__child(display, i), "comment")) continue;
        gg__meta m = gg__infer(in, gg__child(display, i));
        if (m.sort != GG__SCALAR_INT || !m.constant || m.value < last || m.value > 0x1p53) return false;
        last = m.value;
    }
    return true;
}

/* Evaluated once for each item: a name, a literal, or `x.shape[0]`. */
static bool is_number(const gg_rule_input *in, TSNode node) {
    TSNode shape = gg__field(node, "value");
    bool size = gg_node_is(node, "subscript") && gg_node_is(shape, "attribute") &&
                gg_str_is(gg__text(in->tree, gg__field(shape, "attribute")), "shape") &&
                gg_node_is(gg__field(shape, "object"), "identifier");
    if (!size && !gg_node_is(node, "identifier") && !gg_node_is(node, "integer")) return false;
    return gg__infer(in, node).sort == GG__SCALAR_INT;
}

/* A name that the file has nowhere. */
static gg_str item_name(const gg_tree *tree) {
    static const char *const names[] = {"b", "bound", "edge", "bound_"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (!gg__reads(tree, gg_tree_root(tree), gg_str_from(names[i]))) return gg_str_from(names[i]);
    return GG_STR_NULL;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    const gg_tree *tree = in->tree;
    TSNode call = gg__strip_parentheses(gg_node_at(tree, in->span)), arguments = gg__field(call, "arguments");
    TSNode list = gg__child(arguments, 0), number = gg__child(arguments, 1);
    gg_str builtin = GG_STR("sum");
    out->node = call;
    if (!gg_node_is(call, "call") || comparison(tree, call) == NULL) return false;
    if (gg__child_count(arguments) != 2)
        return gg__hinder(in, arguments, "only a list and a number, without bounds or a key, are known");
    TSNode display = gg__number_display(in, list);
    if (ts_node_is_null(display) || !is_sorted(in, display))
        return gg__hinder(in, list, "is not known to be a sorted list of integers that nobody changes");
    if (!is_number(in, number)) return gg__hinder(in, number, "is not known to be an integer of Python's");
    if (!gg_node_is(gg__function(call), "function_definition")) return false;
    for (TSNode at = gg__parent(call); !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (gg_node_is(at, "class_definition")) return false; /* its names are not seen inside sum() */
    return item_name(tree).len && !gg__is_local(tree, call, builtin) && !gg__is_bound_in_module(tree, builtin);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode arguments = gg__field(match->node, "arguments");
    gg_str list = gg__text(in->tree, gg__child(arguments, 0)), number = gg__text(in->tree, gg__child(arguments, 1));
    gg_str name = item_name(in->tree);
    (void)err;
    /* A name may hold NaN in another call, which bisect_right puts behind all. */
    const char *compares = comparison(in->tree, match->node);
    bool named = gg_node_is(gg__child(arguments, 1), "identifier") && compares[1] == '=';
    gg_str test = named ? gg_arena_printf(arena, "not %.*s < %.*s", GG_STR_ARG(number), GG_STR_ARG(name))
                        : gg_arena_printf(arena, "%.*s %s %.*s", GG_STR_ARG(name), compares, GG_STR_ARG(number));
    gg_edits_add(
        out, gg_node_span(match->node),
        gg_arena_printf(arena, "sum(%.*s for %.*s in %.*s)", GG_STR_ARG(test), GG_STR_ARG(name), GG_STR_ARG(list)));
    return 0;
}

const gg_rule gg_rule_counted_place = {
    .code = "GG095",
    .name = "counted-place",
    .title = "Count what is below",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
