/* GG025 diagnostic-context: a `with` that only watches for errors, measures, or sends elsewhere what is printed cannot be entered in a graph.
 * Offers: no context while compiling, the author's otherwise.  Refuses: other contexts, those bound by `as`, around gradients that are
 * computed inside, and where somebody may read what was sent elsewhere.  Safety: effects.  Page: docs/rules/GG025.md */
#include "repair/syntax.h"

static bool is_diagnostic_context(const gg_tree *tree, TSNode value) {
    static const char *const contexts[] = {
        "torch.autograd.detect_anomaly",
        "torch.autograd.set_detect_anomaly",
        "torch.autograd.anomaly_mode.detect_anomaly",
        "torch.autograd.profiler.profile",
        "torch.autograd.profiler.emit_nvtx",
        "torch.cuda.nvtx.range",
    };
    for (size_t i = 0; i < GG_COUNT(contexts); i++)
        if (gg_node_is(value, "call") && gg__refers_to(tree, gg__field(value, "function"), contexts[i])) return true;
    return false;
}

/* What is sent there nobody reads: None, a buffer without a name, the other stream. */
static bool is_lost(const gg_tree *tree, TSNode target) {
    TSNode arguments = gg__field(target, "arguments");
    if (gg_node_is(target, "none") || gg__refers_to(tree, target, "sys.stderr") ||
        gg__refers_to(tree, target, "sys.stdout"))
        return true;
    return gg_node_is(target, "call") && gg__refers_to(tree, gg__field(target, "function"), "io.StringIO") &&
           gg_node_is(arguments, "argument_list") && gg__child_count(arguments) == 0;
}

/* `contextlib.redirect_stdout(None)` */
static bool redirects(const gg_tree *tree, TSNode value) {
    TSNode function = gg__field(value, "function"), arguments = gg__field(value, "arguments");
    return gg_node_is(arguments, "argument_list") && gg__child_count(arguments) == 1 &&
           (gg__refers_to(tree, function, "contextlib.redirect_stdout") ||
            gg__refers_to(tree, function, "contextlib.redirect_stderr")) &&
           is_lost(tree, gg__child(arguments, 0)) && !gg__has_star_import(tree);
}

static bool can_be_left_out(const gg_tree *tree, TSNode value, TSNode body) {
    static const char *const streams[] = {"stdout", "stderr", "getvalue"}, *const gradients[] = {"backward", "grad"};
    if (redirects(tree, value)) return !gg__has_word(tree, body, streams, GG_COUNT(streams));
    return is_diagnostic_context(tree, value) && !gg__has_word(tree, body, gradients, GG_COUNT(gradients)) &&
           gg__is_harmless(tree, gg__field(value, "arguments"));
}

/* The context at the site, or around it. */
static bool check(const gg_rule_input *in, gg_rule_match *out) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) return false;
        if (!gg_node_is(at, "with_statement")) continue;
        TSNode clause = gg__child(at, 0);
        for (uint32_t i = 0; i < gg__child_count(clause); i++) {
            out->node = gg__field(gg__child(clause, i), "value");
            if (is_diagnostic_context(in->tree, out->node) || redirects(in->tree, out->node))
                return can_be_left_out(in->tree, out->node, gg__field(at, "body")) &&
                       gg__can_name(in->tree, at, "torch") && gg__can_name(in->tree, at, "contextlib");
        }
    }
    return false;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_str contextlib = gg__require_module(in->tree, match->node, "contextlib", arena, out);
    uint32_t start = ts_node_start_byte(match->node);
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(arena, "%.*s.nullcontext() if %.*s.compiler.is_compiling() else ",
                                 GG_STR_ARG(contextlib), GG_STR_ARG(torch)));
    return 0;
}

const gg_rule gg_rule_diagnostic_context = {
    .code = "GG025",
    .name = "diagnostic-context",
    .title = "Enter this diagnostic context only when not compiling",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
