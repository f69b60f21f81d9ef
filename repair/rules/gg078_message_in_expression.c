/* GG078 message-in-expression: a message is printed, logged or warned in the middle of an expression: `lambda m, i, o: print(o.shape)`.
 * Offers: None, which it gives, while compiling.  Refuses: unless it certainly gives None and its arguments change nothing; where it is guarded
 * already, or code around it may catch or collect what is said.  A statement is GG001's.
 * Safety: effects (the message is skipped under compile).  Page: docs/rules/GG078.md */
#include "repair/hindrance.h"

static TSNode message_at(const gg_rule_input *in) {
    TSNode at = gg_node_at(in->tree, in->span);
    for (; !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at)) {
        if (gg_node_is(at, "lambda")) break;
        if (gg__is_message_of_none(in, at)) return at;
    }
    return (TSNode){0};
}

static bool is_guarded(const gg_tree *tree, TSNode call) {
    for (TSNode at = gg__parent(call); !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at))
        if (gg_node_is(at, "conditional_expression") &&
            gg_str_contains(gg__text(tree, gg__child(at, 1)), GG_STR("is_compiling()")))
            return true;
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = message_at(in), statement = gg__statement(call);
    out->node = call;
    if (ts_node_is_null(call) || gg__is_diagnostic(in, statement) || is_guarded(in->tree, call) ||
        !gg__can_name(in->tree, call, "torch"))
        return false;
    bool later = gg_node_is(gg__function(call), "lambda"); /* where a lambda stands is not where it runs */
    if (!later && gg__is_watched(in->tree, statement))
        return gg__hinder(in, call, "code around it may catch or collect what is said");
    return true;
}

static bool stands_alone(TSNode call) {
    static const char *const around[] = {"lambda", "argument_list", "return_statement", "parenthesized_expression"};
    TSNode parent = gg__parent(call);
    for (size_t i = 0; i < GG_COUNT(around); i++)
        if (gg_node_is(parent, around[i])) return true;
    return gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "right"), call);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    gg_span span = gg_node_span(match->node);
    bool wrap = !stands_alone(match->node);
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_edits_add(
        out, (gg_span){span.start, span.start},
        gg_arena_printf(arena, "%sNone if %.*s.compiler.is_compiling() else ", wrap ? "(" : "", GG_STR_ARG(torch)));
    if (wrap) gg_edits_add(out, (gg_span){span.end, span.end}, GG_STR(")"));
    return 0;
}

const gg_rule gg_rule_message_in_expression = {
    .code = "GG078",
    .name = "message-in-expression",
    .title = "Skip this message while compiling, and use the None that it gives",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
