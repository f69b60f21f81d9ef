/* What a condition has read before its arms do, and what it names.  See select.h. */
#include "repair/infer.h"
#include "repair/select.h"

static bool is_one_evaluation(TSNode node, void *data) {
    (void)data;
    static const char *const parts[] = {"boolean_operator", "conditional_expression", "lambda"};
    for (size_t i = 0; i < GG_COUNT(parts); i++)
        if (gg_node_is(node, parts[i])) return false;
    return !gg__is_comprehension(node) && (!gg_node_is(node, "comparison_operator") || gg__child_count(node) == 2);
}

bool gg__is_evaluated_whole(TSNode condition) {
    return gg__visit(condition, is_one_evaluation, NULL);
}

bool gg__is_asked(gg_str name) {
    return gg_str_contains(name, GG_STR("["));
}

typedef struct learning {
    gg__select *s;
    gg__arm *arm;
    TSNode last; /* of the statements that read it */
} learning;

/* Names and numbers, none of which the statements from the branch to the last one bind. */
static bool stays(TSNode node, void *data) {
    const learning *l = data;
    static const char *const kinds[] = {"subscript",      "integer",         "tuple",
                                        "unary_operator", "binary_operator", "attribute"};
    if (!gg_node_is(node, "identifier")) return gg__is_one_of(gg_str_from(ts_node_type(node)), kinds, GG_COUNT(kinds));
    gg_str name = gg__text(l->s->in->tree, node);
    TSNode at = l->s->statement;
    while (!ts_node_is_null(at)) {
        if (gg__binds(l->s->in->tree, at, name)) return false;
        if (ts_node_eq(at, l->last)) return true;
        at = ts_node_next_named_sibling(at);
    }
    return false;
}

static bool learn(TSNode node, void *data) {
    learning *l = data;
    gg__select *s = l->s;
    if (!gg_node_is(node, "subscript") || l->arm->count == GG__MAX_BINDINGS) return true;
    gg_str text = gg__text(s->in->tree, node);
    gg__meta m = gg__infer_loosely(s->in, node);
    if (m.sort != GG__TENSOR || gg__elements(m) < 0 || gg__infer(s->in, node).sort != GG__UNKNOWN ||
        gg__arm_find(l->arm, text) || !gg__visit(node, stays, l))
        return true;
    m.fresh = false;
    (void)gg__arm_bind(l->arm, (gg__binding){.name = text, .text = text, .meta = m});
    return true;
}

void gg__learn_asked(gg__select *s, gg__arm *arm, TSNode condition, TSNode last) {
    learning l = {s, arm, last};
    condition = gg__strip_parentheses(condition);
    while (gg_node_is(condition, "boolean_operator"))
        condition = gg__strip_parentheses(gg__field(condition, "left")); /* is asked first */
    if (gg__is_evaluated_whole(condition)) gg__visit(condition, learn, &l);
}

/* What is evaluated first of all. */
static TSNode first_part(TSNode node) {
    for (;;) {
        TSNode inner = {0};
        node = gg__strip_parentheses(node);
        if (gg_node_is(node, "comparison_operator")) inner = gg__child(node, 0);
        if (gg_node_is(node, "not_operator")) inner = gg__field(node, "argument");
        if (gg_node_is(node, "call")) inner = gg__field(node, "function");
        if (gg_node_is(node, "attribute")) inner = gg__field(node, "object");
        if (ts_node_is_null(inner)) return node;
        node = inner;
    }
}

bool gg__test_naming(gg__select *s, TSNode condition, gg__test *out) {
    TSNode named = first_part(condition), name = gg__field(named, "name");
    if (!gg_node_is(named, "named_expression") || !gg_node_is(gg__parent(named), "parenthesized_expression") ||
        !gg__is_evaluated_whole(condition))
        return false;
    if (s->stores && !gg__infer_loosely(s->in, gg__field(named, "value")).fresh)
        return false; /* memory that an arm may store to */
    s->as_before = s->names = true;
    bool known = gg__test_of(s, NULL, condition, out);
    s->as_before = s->names = false;
    gg_str whole = gg__text(s->in->tree, gg__parent(named)), text = out->text;
    size_t at = known ? gg_str_find(text, whole, 0) : SIZE_MAX;
    if (at == SIZE_MAX) return false;
    gg_str front = gg_str_slice(text, 0, at), behind = gg_str_slice(text, at + whole.len, text.len);
    if (gg_str_contains(front, GG_STR(":=")) || gg_str_contains(behind, GG_STR(":="))) return false;
    out->text = gg_arena_printf(s->arena, "%.*s%.*s%.*s", GG_STR_ARG(front), GG_STR_ARG(gg__text(s->in->tree, name)),
                                GG_STR_ARG(behind));
    gg__select_line(s, gg__text(s->in->tree, name), gg__text(s->in->tree, gg__field(named, "value")));
    return true;
}
