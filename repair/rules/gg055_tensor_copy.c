/* GG055 tensor-copy: copy.deepcopy(t) and copy.copy(t) go through pickling, which Dynamo does not follow.
 * Offers: what they do to a tensor: a leaf of its own that requires gradients where the original does, with its own memory or the same;
 * `l.copy()` for copy.copy of a list, dictionary or set.
 * Refuses: unless the argument is a name that was a tensor without gradients (deepcopy raises for others that are no leaves), or a local name
 * that holds nothing but one display.
 * Safety: exact.  Page: docs/rules/GG055.md */
#include "repair/syntax.h"

static TSNode argument_of(TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    return gg__child_count(arguments) == 1 ? gg__child(arguments, 0) : (TSNode){0};
}

static bool is_plain_tensor(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; record && i < record->fact_count; i++)
        if (gg_str_equal(record->facts[i].name, name))
            return record->facts[i].kind == GG_VALUE_TENSOR && !record->facts[i].requires_grad;
    return false;
}

static bool is_deep(const gg_tree *tree, TSNode call) {
    return gg__refers_to(tree, gg__field(call, "function"), "copy.deepcopy");
}

/* A list, dictionary or set, and no class derived from them: copy.copy asks the type for its method `copy`. */
static bool is_container(const gg_tree *tree, TSNode name) {
    static const char *const displays[] = {"list",
                                           "list_comprehension",
                                           "dictionary",
                                           "dictionary_comprehension",
                                           "set",
                                           "set_comprehension",
                                           "dictionary_splat_pattern"};
    static const char *const types[] = {"list", "dict", "set"};
    TSNode value = gg__only_value(tree, name);
    for (size_t i = 0; i < GG_COUNT(displays); i++)
        if (gg_node_is(value, displays[i])) return true;
    for (size_t i = 0; gg_node_is(value, "call") && i < GG_COUNT(types); i++)
        if (gg__names_builtin(tree, gg__field(value, "function"), types[i])) return true;
    return false;
}

static bool is_shallow(const gg_tree *tree, TSNode call) {
    return gg__refers_to(tree, gg__field(call, "function"), "copy.copy");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), argument = argument_of(call);
    out->node = call;
    if (!gg_node_is(call, "call") || !gg_node_is(argument, "identifier")) return false;
    bool deep = is_deep(in->tree, call);
    if (!deep && !is_shallow(in->tree, call)) return false;
    return is_plain_tensor(in, gg__text(in->tree, argument)) || (!deep && is_container(in->tree, argument));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    gg_str name = gg__text(in->tree, argument_of(match->node));
    if (!is_plain_tensor(in, name)) {
        gg_edits_add(out, gg_node_span(match->node), gg_arena_printf(arena, "%.*s.copy()", GG_STR_ARG(name)));
        return 0;
    }
    const char *own = is_deep(in->tree, match->node) ? ".clone()" : "";
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.detach()%s.requires_grad_(%.*s.requires_grad)", GG_STR_ARG(name), own,
                                 GG_STR_ARG(name)));
    return 0;
}

const gg_rule gg_rule_tensor_copy = {
    .code = "GG055",
    .name = "tensor-copy",
    .title = "Copy it with its own methods",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
