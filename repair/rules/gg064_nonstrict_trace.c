/* GG064 nonstrict-trace: a function that Dynamo cannot trace may go into the graph as a call that nobody looks into.
 * Offers: @torch._dynamo.nonstrict_trace on the function of the module in which the graph breaks.  Refuses: for methods, nested and decorated
 * functions, generators, and where no other function of the file calls it.
 * Safety: opaque (the break is hidden, not mended; what the function says or keeps beside its result may happen once, when it is traced).
 * Page: docs/rules/GG064.md */
#include "repair/syntax.h"

typedef struct call_search {
    const gg_tree *tree;
    gg_str name;
    TSNode function;
} call_search;

/* Stops at a call of the function in another function. */
static bool is_no_call(TSNode node, void *data) {
    const call_search *s = data;
    TSNode callee = gg__field(node, "function");
    if (!gg_node_is(node, "call") || !gg_node_is(callee, "identifier") ||
        !gg_str_equal(gg__text(s->tree, callee), s->name))
        return true;
    for (TSNode at = gg__parent(node); !ts_node_is_null(at); at = gg__parent(at)) {
        if (ts_node_eq(at, s->function)) return true;
        if (gg_node_is(at, "function_definition")) return gg__is_local(s->tree, node, s->name);
    }
    return true;
}

static bool is_no_yield(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "yield") && !gg_node_is(node, "await") && !gg_node_is(node, "global_statement");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode function = gg_node_ancestor(gg_node_at(in->tree, in->span), "function_definition");
    call_search s = {in->tree, gg__text(in->tree, gg__field(function, "name")), function};
    out->node = function;
    return gg_node_is(gg__parent(function), "module") &&
           !gg_str_starts_with(gg__text(in->tree, function), GG_STR("async")) &&
           in->span.start >= ts_node_start_byte(gg__field(function, "body")) &&
           gg__visit(function, is_no_yield, NULL) && gg__can_name(in->tree, gg_tree_root(in->tree), "torch") &&
           !gg__visit(gg_tree_root(in->tree), is_no_call, &s);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    gg_str torch = gg__require_module(in->tree, gg_tree_root(in->tree), "torch", arena, out);
    uint32_t at = ts_node_start_byte(match->node);
    gg_edits_add(out, (gg_span){at, at},
                 gg_arena_printf(arena, "@%.*s._dynamo.nonstrict_trace%.*s", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__newline(in->tree))));
    return 0;
}

const gg_rule gg_rule_nonstrict_trace = {
    .code = "GG064",
    .name = "nonstrict-trace",
    .title = "Hide this function's inside from Dynamo",
    .safety = GG_SAFETY_OPAQUE,
    .check = check,
    .edit = edit,
};
