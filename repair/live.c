/* Names, in front of a branch and behind it.  See select.h. */
#include "repair/select.h"

TSNode gg__assignment(TSNode statement) {
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return (TSNode){0};
    TSNode assignment = gg__child(statement, 0);
    bool simple = gg_node_is(assignment, "assignment") && gg_node_is(gg__field(assignment, "left"), "identifier") &&
                  ts_node_is_null(gg__field(assignment, "type")) && !ts_node_is_null(gg__field(assignment, "right"));
    return simple ? assignment : (TSNode){0};
}

TSNode gg__assigned(TSNode identifier) {
    TSNode assignment = gg__assignment(gg__statement(identifier));
    return ts_node_eq(gg__field(assignment, "left"), identifier) ? assignment : (TSNode){0};
}

/* `name = v`, `name, other = v, w` */
static bool assigns_name(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode assignment = gg__assignment(statement);
    if (ts_node_is_null(assignment)) assignment = gg__several_assigned(statement);
    TSNode left = gg__field(assignment, "left");
    if (gg_node_is(left, "identifier")) return gg_str_equal(gg__text(tree, left), name);
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (gg_str_equal(gg__text(tree, gg__child(left, i)), name)) return true;
    return false;
}

bool gg__bound_before(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode function = gg__function(statement);
    if (!gg_node_is(function, "function_definition")) return false;
    TSNode parameters = gg__field(function, "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode parameter = gg__child(parameters, i);
        while (!gg_node_is(parameter, "identifier") && gg__child_count(parameter)) parameter = gg__child(parameter, 0);
        if (gg_str_equal(gg__text(tree, parameter), name)) return true;
    }
    for (TSNode at = statement; !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at)) {
        TSNode target = gg__field(at, "left"); /* `for t in x:` around it */
        bool given = gg_node_is(at, "for_statement") && gg_node_is(target, "identifier") &&
                     gg__covers(gg__field(at, "body"), gg_node_span(statement));
        if (given && gg_str_equal(gg__text(tree, target), name)) return true;
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            if (assigns_name(tree, before, name)) return true;
        }
    }
    return false;
}

typedef struct later {
    const gg__select *s;
    gg_str name;
    TSNode function;
    uint32_t end, loop; /* the loop's start, or the end again */
} later;

static bool is_not_later(TSNode node, void *data) {
    const later *l = data;
    const gg_tree *tree = l->s->in->tree;
    if (gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement"))
        return !gg__reads(tree, node, l->name);
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), l->name)) return true;
    uint32_t at = ts_node_start_byte(node);
    bool inside = at >= ts_node_start_byte(l->s->statement) && at < l->end;
    return inside || (at < l->loop && ts_node_eq(gg__function(node), l->function));
}

TSNode gg__last_of_arms(const gg__select *s, TSNode node) {
    TSNode last = node;
    for (TSNode at = node; s->skips && !ts_node_is_null(at); at = ts_node_next_named_sibling(at))
        if (!gg_node_is(at, "comment")) last = at;
    return last;
}

bool gg__is_live(const gg__select *s, gg_str name) {
    later l = {s, name, gg__function(s->statement), ts_node_end_byte(gg__last_of_arms(s, s->statement)), 0};
    bool looped = false;
    l.loop = l.end;
    if (!gg_node_is(l.function, "function_definition")) return true;
    for (TSNode at = s->statement; !ts_node_eq(at, l.function); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) {
            l.loop = ts_node_start_byte(at);
            looped = true;
        }
    for (size_t i = 0; looped && i < s->outer_count; i++)
        if (gg_str_equal(s->outer[i], name) || s->outer_count == GG__MAX_OUTER) return true;
    return !gg__visit(l.function, is_not_later, &l);
}
