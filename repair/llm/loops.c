/* Loops and recursion without a bound that can be seen.  See integrity.h. */
#include <stdlib.h>

#include "repair/llm/integrity.h"

enum { LONGEST_RANGE = 100000 };

typedef struct body_search {
    const gg__look *look;
    TSNode loop, condition;
    bool leaves, moves; /* there is a break or return; a name of the condition is bound */
} body_search;

static bool visit_body(TSNode node, void *data) {
    body_search *s = data;
    if (gg_node_is(node, "return_statement") || gg_node_is(node, "raise_statement")) s->leaves = true;
    if (gg_node_is(node, "break_statement")) {
        TSNode loop = gg__parent(node);
        while (!ts_node_is_null(loop) && !gg_node_is(loop, "while_statement") && !gg_node_is(loop, "for_statement"))
            loop = gg__parent(loop);
        s->leaves = s->leaves || ts_node_eq(loop, s->loop);
    }
    bool target =
        gg_node_is(node, "identifier") && (gg__is_binding(node) || gg_node_is(gg__parent(node), "attribute") ||
                                           gg_node_is(gg__parent(node), "subscript"));
    if (target && gg__reads(s->look->tree, s->condition, gg__text(s->look->tree, node))) s->moves = true;
    return true;
}

static bool is_always_true(gg_str condition) {
    static const char *const words[] = {"True", "1", "not False", "not 0", "not None"};
    return gg__is_one_of(condition, words, GG_COUNT(words));
}

static void scan_while(gg__look *look, TSNode node) {
    TSNode condition = gg__strip_parentheses(gg__field(node, "condition"));
    body_search s = {.look = look, .loop = node, .condition = condition};
    gg__visit(gg__field(node, "body"), visit_body, &s);
    bool moves = s.moves || gg_node_is(condition, "named_expression");
    if (!s.leaves && (is_always_true(gg__text(look->tree, condition)) || !moves)) {
        gg_str text = gg__text(look->tree, node);
        gg__find(look, GG__CHEAT_ENDLESS, gg_str_slice(text, 0, gg_str_find(text, GG_STR("\n"), 0)), 1);
    }
}

typedef struct range_search {
    const gg__look *look;
    bool large;
} range_search;

static bool visit_bound(TSNode node, void *data) {
    range_search *s = data;
    gg_str text = gg__text(s->look->tree, node);
    if (gg_node_is(node, "integer")) {
        char digits[24] = {0};
        size_t n = 0;
        for (size_t i = 0; i < text.len && n + 1 < sizeof digits; i++)
            if (text.ptr[i] != '_') digits[n++] = text.ptr[i];
        s->large = s->large || text.len > 20 || strtod(digits, NULL) > LONGEST_RANGE;
    }
    if (gg_node_is(node, "binary_operator")) {
        gg_str operator= gg__text(s->look->tree, gg__field(node, "operator"));
        s->large = s->large || gg_str_is(operator, "**") || gg_str_is(operator, "<<");
    }
    return true;
}

/* `self(…)`, `self.forward(…)` in forward, `f(…)` in f */
static bool calls_itself(const gg__look *look, TSNode call) {
    TSNode own = gg_node_ancestor(call, "function_definition"), function = gg__field(call, "function");
    gg_str name = gg__definition_name(look->tree, own);
    if (ts_node_is_null(own)) return false;
    if (gg_node_is(function, "identifier"))
        return gg_str_equal(gg__text(look->tree, function), name) ||
               (gg__is_self(look, function) && gg_str_is(name, "forward"));
    return gg_node_is(function, "attribute") && gg__is_self(look, gg__field(function, "object")) &&
           gg_str_equal(gg__text(look->tree, gg__field(function, "attribute")), name);
}

void gg__scan_loops(gg__look *look, TSNode node) {
    if (gg_node_is(node, "while_statement")) {
        scan_while(look, node);
    } else if (gg_node_is(node, "call")) {
        range_search s = {look, false};
        if (gg_str_is(gg__text(look->tree, gg__field(node, "function")), "range"))
            gg__visit(gg__field(node, "arguments"), visit_bound, &s);
        if (s.large || calls_itself(look, node)) gg__find_node(look, GG__CHEAT_ENDLESS, node);
    }
}
