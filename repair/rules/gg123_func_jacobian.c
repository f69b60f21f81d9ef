/* GG123 func-jacobian: torch.autograd.functional.jacobian() and hessian() in the compiled code, which Dynamo does not trace.
 * Offers: torch.func.jacrev(f)(x), of itself for a Hessian.  Refuses: several inputs, and options that ask for more.
 * Safety: numeric.  Page: docs/rules/GG123.md */
#include "repair/gradient_function.h"
#include "repair/hindrance.h"

typedef struct jacobian {
    TSNode call, function, input;
    bool twice;    /* a Hessian */
    bool attached; /* create_graph=True */
} jacobian;

static bool is_flag(TSNode node) {
    return gg_node_is(node, "true") || gg_node_is(node, "false");
}

static bool read_arguments(const gg_rule_input *in, jacobian *j) {
    TSNode arguments = gg__field(j->call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        bool named = gg_node_is(argument, "keyword_argument");
        gg_str name = named    ? gg__text(in->tree, gg__field(argument, "name"))
                      : i == 0 ? GG_STR("func")
                      : i == 1 ? GG_STR("inputs")
                               : GG_STR("?");
        if (!named) value = argument;
        if (gg_str_is(name, "func"))
            j->function = value;
        else if (gg_str_is(name, "inputs"))
            j->input = value;
        else if (gg_str_is(name, "create_graph") && is_flag(value))
            j->attached = gg_node_is(value, "true");
        else if (!gg_str_is(name, "vectorize") && !(gg_str_is(name, "strict") && gg_node_is(value, "false")))
            return gg__hinder(in, argument, "asks for what torch.func.jacrev does not give");
    }
    if (ts_node_is_null(j->function) || ts_node_is_null(j->input)) return false;
    bool one = !gg_node_is(j->input, "tuple") && !gg_node_is(j->input, "list");
    return one || gg__hinder(in, j->input, "is more than one tensor");
}

static bool find(const gg_rule_input *in, jacobian *out) {
    *out = (jacobian){.call = gg_node_at(in->tree, in->span)};
    while (!ts_node_is_null(out->call) && !gg_node_is(out->call, "call")) out->call = gg__parent(out->call);
    TSNode function = gg__field(out->call, "function");
    if (ts_node_is_null(out->call)) return false;
    out->twice = gg__refers_to(in->tree, function, "torch.autograd.functional.hessian");
    if (!out->twice && !gg__refers_to(in->tree, function, "torch.autograd.functional.jacobian")) return false;
    return !gg__has_comment(in->tree, gg_node_span(out->call)) && read_arguments(in, out) &&
           gg__leaves_nothing(in, out->call);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    jacobian j;
    if (!find(in, &j)) return false;
    out->node = j.call;
    return gg__can_name(in->tree, j.call, "torch");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    jacobian j;
    if (!find(in, &j)) return gg_fail(err, GG_ENOMATCH, "it is no Jacobian after all");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_str of =
        gg_arena_printf(arena, "%.*s.func.jacrev(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(gg__text(in->tree, j.function)));
    if (j.twice) of = gg_arena_printf(arena, "%.*s.func.jacrev(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(of));
    gg_edits_add(out, gg_node_span(j.call),
                 gg_arena_printf(arena, "%.*s(%.*s)%s", GG_STR_ARG(of), GG_STR_ARG(gg__text(in->tree, j.input)),
                                 j.attached ? "" : ".detach()"));
    return 0;
}

const gg_rule gg_rule_func_jacobian = {
    .code = "GG123",
    .name = "func-jacobian",
    .title = "Take the Jacobian with torch.func.jacrev",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
