/* GG082 autograd-backward: torch.autograd.backward(t) is a function that Dynamo skips; the method t.backward(), which calls it, can be traced.
 * Offers: `t.backward(…)`, and torch._dynamo.config.trace_autograd_ops = True where the file does not set it.  Refuses: several tensors, of
 * which each would be a pass of its own; what is not known to be a tensor; and a file that says otherwise of that setting.
 * Safety: config.  Page: docs/rules/GG082.md */
#include "repair/hindrance.h"

static const char *const path = "torch.autograd.backward", *const setting = "trace_autograd_ops";

typedef struct pass {
    TSNode call, arguments, tensor; /* the one that it starts from, without a list around it */
    TSNode keyword; /* `grad_tensors`, which the method calls `gradient`; null when it is not given by name */
} pass;

/* A gradient for one tensor is one tensor, or none. */
static bool is_gradient(const gg_rule_input *in, TSNode node) {
    return gg_node_is(node, "none") || gg__infer(in, node).sort == GG__TENSOR;
}

static bool reads_options(const gg_rule_input *in, pass *p) {
    enum { POSITIONS = 4 }; /* tensors, grad_tensors, retain_graph, create_graph */
    static const char *const names[] = {"retain_graph", "create_graph", "inputs"};
    for (uint32_t i = 1; i < gg__child_count(p->arguments); i++) {
        TSNode argument = gg__child(p->arguments, i);
        if (gg_node_is(argument, "comment") || gg_node_is(argument, "list_splat") ||
            gg_node_is(argument, "dictionary_splat"))
            return false;
        if (!gg_node_is(argument, "keyword_argument")) {
            if (i >= POSITIONS || (i == 1 && !is_gradient(in, argument))) return false;
            continue;
        }
        gg_str name = gg__text(in->tree, gg__field(argument, "name"));
        if (gg_str_is(name, "grad_tensors")) {
            p->keyword = gg__field(argument, "name");
            if (!is_gradient(in, gg__field(argument, "value"))) return false;
        } else if (!gg__is_one_of(name, names, GG_COUNT(names))) {
            return false;
        }
    }
    return true;
}

static bool find(const gg_rule_input *in, pass *p) {
    *p = (pass){.call = gg__strip_parentheses(gg_node_at(in->tree, in->span))};
    p->arguments = gg__field(p->call, "arguments");
    if (!gg_node_is(p->call, "call") || !gg__refers_to(in->tree, gg__field(p->call, "function"), path) ||
        !gg_node_is(p->arguments, "argument_list"))
        return false;
    TSNode first = gg__child(p->arguments, 0), one = gg__strip_parentheses(first);
    if (gg_node_is(one, "list") || gg_node_is(one, "tuple")) {
        if (gg__child_count(one) != 1)
            return gg__hinder(in, one, "several tensors are one pass here, and one each by the method");
        one = gg__strip_parentheses(gg__child(one, 0));
    }
    p->tensor = one;
    if (gg__infer(in, one).sort != GG__TENSOR) return gg__hinder(in, one, "not known to be a tensor");
    if (gg__has_comment(in->tree, (gg_span){ts_node_start_byte(p->call), ts_node_end_byte(first)})) return false;
    return reads_options(in, p) || gg__hinder(in, p->arguments, "has arguments that the method does not take so");
}

static bool is_set(const gg_tree *tree) {
    return gg_str_contains(gg_text_bytes(gg_tree_text(tree)), GG_STR("config.trace_autograd_ops = True"));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    pass p;
    bool found = gg_str_is(in->site->id, "GB0007") && find(in, &p);
    out->node = found ? p.call : gg_tree_root(in->tree);
    return found && (gg__can_set(in->tree, setting) || is_set(in->tree));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    static const char *const tight[] = {"identifier", "attribute", "call", "subscript"};
    (void)match;
    pass p;
    if (!find(in, &p)) return gg_fail(err, GG_ENOMATCH, "it is not known to start from one tensor");
    gg_span call = gg_node_span(p.call), tensor = gg_node_span(p.tensor);
    TSNode second = gg__child(p.arguments, 1);
    bool wrap = !gg__is_one_of(gg_str_from(ts_node_type(p.tensor)), tight, GG_COUNT(tight));
    /* a comma behind the only argument goes, too */
    uint32_t rest = ts_node_is_null(second) ? call.end - 1 : ts_node_start_byte(second);
    gg_edits_add(out, (gg_span){call.start, tensor.start}, wrap ? GG_STR("(") : GG_STR_NULL);
    gg_edits_add(out, (gg_span){tensor.end, rest}, wrap ? GG_STR(").backward(") : GG_STR(".backward("));
    if (!ts_node_is_null(p.keyword)) gg_edits_add(out, gg_node_span(p.keyword), GG_STR("gradient"));
    if (gg__can_set(in->tree, setting)) gg__set(in->tree, setting, GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_autograd_backward = {
    .code = "GG082",
    .name = "autograd-backward",
    .title = "Start the backward pass by the tensor's method, and let Dynamo trace it",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
