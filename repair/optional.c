/* Parameters that are None unless a caller says otherwise, and attributes that are None at first: what an arm does with one may fail where the arm is not
 * taken.  See select.h.  Any thread. */
#include "repair/alias.h"
#include "repair/select.h"

/* ---- what tells that it is not None ------------------------------------------------------------------------------------------ */

typedef struct optional {
    const gg_tree *tree;
    gg_str name; /* `bias`, `self.bias` */
} optional;

static bool is_name(const optional *o, TSNode node) {
    node = gg__strip_parentheses(node);
    return (gg_node_is(node, "identifier") || gg_node_is(node, "attribute")) &&
           gg_str_equal(gg__text(o->tree, node), o->name);
}

/* Does None raise here?  As an operand, with an attribute or an element; not where that may not be reached. */
static bool is_no_use(TSNode node, void *data) {
    static const char *const later[] = {"lambda", "boolean_operator", "conditional_expression"};
    const optional *o = data;
    TSNode parent = gg__parent(node);
    bool member = gg_node_is(node, "identifier") && gg__is_member_name(node);
    if (!is_name(o, node) || gg_node_is(node, "parenthesized_expression") || member) return true;
    bool asks = gg_node_is(parent, "comparison_operator");
    for (uint32_t i = 0; asks && i < ts_node_child_count(parent); i++) {
        gg_str op = gg__text(o->tree, ts_node_child(parent, i));
        asks = !gg_str_starts_with(op, GG_STR("is")) && !gg_str_is(op, "==") && !gg_str_is(op, "!=");
    }
    bool object = gg_node_is(parent, "attribute") ||
                  (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), node));
    if (!asks && !object && !gg_node_is(parent, "binary_operator")) return true;
    for (TSNode at = parent; !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at))
        if (gg__is_one_of(gg_str_from(ts_node_type(at)), later, GG_COUNT(later)) || gg__is_comprehension(at))
            return true;
    return false;
}

/* `bias is None` or the contrary, perhaps among other things: does that it holds (or not) tell that the name is not None? */
static bool tells(const optional *o, TSNode condition, bool holds, int depth) {
    condition = gg__strip_parentheses(condition);
    if (depth > 16) return false;
    if (gg_node_is(condition, "not_operator")) return tells(o, gg__field(condition, "argument"), !holds, depth + 1);
    if (gg_node_is(condition, "boolean_operator")) {
        bool both = gg_str_is(gg__text(o->tree, gg__field(condition, "operator")), "and");
        return both == holds && (tells(o, gg__field(condition, "left"), holds, depth + 1) ||
                                 tells(o, gg__field(condition, "right"), holds, depth + 1));
    }
    if (holds && is_name(o, condition)) return true;
    if (!gg_node_is(condition, "comparison_operator") || gg__child_count(condition) != 2 ||
        !is_name(o, gg__child(condition, 0)) || !gg_node_is(gg__child(condition, 1), "none"))
        return false;
    return gg_str_is(gg__text(o->tree, ts_node_child(condition, 1)), holds ? "is not" : "is");
}

static bool leaves(TSNode block) {
    static const char *const exits[] = {"return_statement", "raise_statement", "continue_statement", "break_statement"};
    return gg__ends_with(block, exits, GG_COUNT(exits));
}

/* Is the name no None behind the statement? */
static bool settles(const optional *o, TSNode statement) {
    TSNode inner = gg__child(statement, 0), body = gg__field(statement, "consequence");
    if (gg_node_is(statement, "assert_statement")) return tells(o, inner, true, 0);
    if (gg_node_is(statement, "if_statement"))
        return (tells(o, gg__field(statement, "condition"), false, 0) &&
                (leaves(body) || gg__binds_path(o->tree, body, o->name))) ||
               !gg__visit(gg__field(statement, "condition"), is_no_use, (void *)o);
    if (!gg_node_is(statement, "expression_statement")) return false;
    bool given = gg_node_is(inner, "assignment") && is_name(o, gg__field(inner, "left")) &&
                 !gg_node_is(gg__field(inner, "right"), "none");
    if (gg_node_is(inner, "call")) return false; /* a message may be left out */
    return given || !gg__visit(statement, is_no_use, (void *)o);
}

static bool is_excluded(const optional *o, TSNode node) {
    for (TSNode child = node, at = gg__parent(node); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) return false;
        bool block = gg_node_is(at, "block");
        for (TSNode before = ts_node_prev_named_sibling(child); block && !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before))
            if (settles(o, before)) return true;
        if (gg_node_is(at, "boolean_operator") && ts_node_eq(gg__field(at, "right"), child)) {
            bool both = gg_str_is(gg__text(o->tree, gg__field(at, "operator")), "and");
            if (tells(o, gg__field(at, "left"), both, 0)) return true; /* else it is not reached */
        }
        if (gg_node_is(at, "conditional_expression")) {
            bool yes = ts_node_eq(gg__child(at, 0), child);
            if (!ts_node_eq(gg__child(at, 1), child) && tells(o, gg__child(at, 1), yes, 0)) return true;
        }
        if (!gg_node_is(at, "if_statement") && !gg_node_is(at, "elif_clause") && !gg_node_is(at, "while_statement"))
            continue;
        TSNode condition = gg__field(at, "condition");
        bool taken = ts_node_eq(gg__field(at, gg_node_is(at, "while_statement") ? "body" : "consequence"), child);
        if (!ts_node_eq(condition, child) && tells(o, condition, taken, 0)) return true;
        if (!gg_node_is(at, "elif_clause") && !gg__visit(condition, is_no_use, (void *)o)) return true;
    }
    return false;
}

/* ---- the question -------------------------------------------------------------------------------------------------------------- */

/* `bias=None`, `bias: Optional[Tensor]`, `bias: Tensor | None` */
static bool is_optional(const gg_tree *tree, TSNode function, gg_str name) {
    TSNode parameter = gg__parameter(tree, function, name);
    gg_str type = gg__text(tree, gg__field(parameter, "type"));
    return gg_node_is(gg__field(parameter, "value"), "none") || gg_str_contains(type, GG_STR("Optional")) ||
           gg_str_contains(type, GG_STR("None"));
}

/* `self.t = None`, `self.t: Tensor | None = …`, `register_buffer("t", None)` somewhere in the file, whoever's it is: a search of the text, since this is
 * asked for often. */
static bool is_none_at_first(const gg_tree *tree, gg_str name) {
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    for (size_t at = gg_str_find(all, name, 0); at != SIZE_MAX; at = gg_str_find(all, name, at + name.len)) {
        size_t end = at + name.len, stop = gg_str_find(all, GG_STR("\n"), end);
        gg_str rest = gg_str_slice(all, end, stop == SIZE_MAX ? all.len : stop);
        char before = at ? all.ptr[at - 1] : ' ';
        if (before == '.' && (gg_str_starts_with(rest, GG_STR(" = None")) || gg_str_starts_with(rest, GG_STR("=None"))))
            return true;
        bool typed = before == '.' && gg_str_starts_with(rest, GG_STR(":"));
        bool registered = (before == '"' || before == '\'') && rest.len > 1 && rest.ptr[0] == before &&
                          gg_str_starts_with(gg_str_slice(rest, 1, rest.len), GG_STR(", None"));
        if (registered ||
            (typed && (gg_str_contains(rest, GG_STR("None")) || gg_str_contains(rest, GG_STR("Optional")))))
            return true;
    }
    return false;
}

typedef struct asking {
    const gg_tree *tree;
    TSNode function;
} asking;

static bool is_there(TSNode node, void *data) {
    const asking *a = data;
    optional o = {a->tree, gg__text(a->tree, node)};
    bool may_be = false;
    if (gg_node_is(node, "attribute") && gg_str_is(gg__text(a->tree, gg__field(node, "object")), "self"))
        may_be = is_none_at_first(a->tree, gg__text(a->tree, gg__field(node, "attribute")));
    else if (gg_node_is(node, "identifier") && !gg__is_member_name(node))
        may_be = is_optional(a->tree, a->function, o.name);
    return !may_be || is_excluded(&o, node);
}

bool gg__may_be_none(const gg_rule_input *in, TSNode node) {
    asking a = {in->tree, gg__function(node)};
    return !gg__visit(node, is_there, &a);
}
