/* GG023 disabled-callee: a function under @torch.compiler.disable is called outside the graph.
 * Offers: to take the decorator away.  Refuses: unless the function the capture named is in this file and its decorator is certainly
 * torch's.  Whether its body can be compiled is what the verification says.  Safety: exact.  Page: docs/rules/GG023.md */
#include "repair/syntax.h"

static bool is_disable(const gg_tree *tree, TSNode decorator) {
    TSNode name = gg__child(decorator, 0);
    if (gg_node_is(name, "call")) name = gg__field(name, "function");
    return gg__refers_to(tree, name, "torch.compiler.disable") || gg__refers_to(tree, name, "torch._dynamo.disable");
}

/* Does a qualified name ("Net.step", "f.<locals>.g") end in this definition's, and what encloses it in theirs? */
static bool is_called(const gg_tree *tree, TSNode definition, gg_str qualified) {
    for (TSNode at = definition; !ts_node_is_null(at); at = gg__parent(at)) {
        bool function = gg_node_is(at, "function_definition");
        if (!function && !gg_node_is(at, "class_definition")) continue;
        if (function && gg_str_ends_with(qualified, GG_STR(".<locals>")))
            qualified = gg_str_slice(qualified, 0, qualified.len - sizeof(".<locals>") + 1);
        gg_str name = gg__text(tree, gg__field(at, "name"));
        if (!gg_str_ends_with(qualified, name)) return false;
        qualified = gg_str_slice(qualified, 0, qualified.len - name.len);
        if (qualified.len == 0) continue;
        if (qualified.ptr[qualified.len - 1] != '.') return false;
        qualified = gg_str_slice(qualified, 0, qualified.len - 1);
    }
    return qualified.len == 0;
}

typedef struct search {
    const gg_tree *tree;
    gg_str qualified;
    TSNode decorator;
    uint32_t found;
} search;

static bool on_node(TSNode node, void *data) {
    search *s = data;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(node, "function_definition") || !is_called(s->tree, node, s->qualified)) return true;
    s->found++;
    for (uint32_t i = 0; gg_node_is(parent, "decorated_definition") && i < gg__child_count(parent); i++)
        if (gg_node_is(gg__child(parent, i), "decorator") && is_disable(s->tree, gg__child(parent, i)))
            s->decorator = gg__child(parent, i);
    return true;
}

/* "<function Net.step at 0x…>" → "Net.step" */
static gg_str qualified_name(gg_str context) {
    static const char *const heads[] = {"<function ", "<bound method "};
    for (size_t i = 0; i < GG_COUNT(heads); i++) {
        gg_str head = gg_str_from(heads[i]);
        if (!gg_str_starts_with(context, head)) continue;
        size_t end = gg_str_find(context, GG_STR(" "), head.len);
        return gg_str_slice(context, head.len, end == SIZE_MAX ? head.len : end);
    }
    return GG_STR_NULL;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg_str_is(in->site->id, "GB0098") || in->site->first == NULL) return false;
    search s = {.tree = in->tree, .qualified = qualified_name(in->site->first->context)};
    if (s.qualified.len == 0) return false;
    gg__visit(gg_tree_root(in->tree), on_node, &s);
    out->node = s.decorator;
    return s.found == 1 && !ts_node_is_null(s.decorator);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)arena, (void)err;
    gg_span span = {ts_node_start_byte(match->node),
                    ts_node_end_byte(gg__child(match->node, 0))}; /* without its line's end */
    gg__delete_lines(in->tree, span, out);
    return 0;
}

const gg_rule gg_rule_disabled_callee = {
    .code = "GG023",
    .name = "disabled-callee",
    .title = "Compile this function, which its author disabled",
    .safety = GG_SAFETY_EXACT,
    .deliberate = true,
    .check = check,
    .edit = edit,
};
