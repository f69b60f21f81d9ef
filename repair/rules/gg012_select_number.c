/* GG012 select-number: a tensor decides which of two numbers is used.
 * Offers: torch.where of the two numbers, a tensor without dimensions, where it meets tensors in arithmetic that gives the same bits, also by
 * way of what Python computes with it.
 * Refuses: numbers that are no constants or of two kinds, constants that are no numbers of single precision, any other use (scalar.h).
 * Safety: exact.  Page: docs/rules/GG012.md */
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

static bool is_single(gg__meta number) {
    return number.constant && (double)(float)number.value == number.value;
}

/* What a tensor decides: a conditional expression, or an `if` and its `else` that assign to one name. */
typedef struct choice {
    TSNode node, condition, yes, no; /* node: what becomes the tensor */
    TSNode name;                     /* of the assignments; else null */
} choice;

/* The assignment that is all of a block. */
static TSNode only_assignment(TSNode block) {
    return gg__child_count(block) == 1 ? gg__assignment(gg__child(block, 0)) : (TSNode){0};
}

static bool find_statement(const gg_rule_input *in, TSNode node, choice *out) {
    TSNode other = gg__child_count(node) == 3 ? gg__field(node, "alternative") : (TSNode){0};
    if (!gg_node_is(other, "else_clause")) return false;
    TSNode yes = only_assignment(gg__field(node, "consequence")), no = only_assignment(gg__field(other, "body"));
    *out = (choice){.node = node, .condition = gg__field(node, "condition"), .name = gg__field(yes, "left")};
    out->yes = gg__field(yes, "right");
    out->no = gg__field(no, "right");
    return !ts_node_is_null(yes) && !ts_node_is_null(no) &&
           gg_str_equal(gg__text(in->tree, out->name), gg__text(in->tree, gg__field(no, "left")));
}

static bool find(const gg_rule_input *in, choice *out) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "if_statement") && gg__covers(gg__field(at, "condition"), in->span))
            return find_statement(in, at, out);
        if (gg_node_is(at, "block")) return false;
        if (!gg_node_is(at, "conditional_expression") || !gg__covers(gg__child(at, 1), in->span)) continue;
        *out = (choice){.node = at, .condition = gg__child(at, 1), .yes = gg__child(at, 0), .no = gg__child(at, 2)};
        return gg__child_count(at) == 3;
    }
    return false;
}

static gg__scalar scalar_of(gg__meta a, gg__meta b) {
    gg__scalar s = {.sort = a.sort, .magnitude = fmax(fabs(a.value), fabs(b.value)), .value_count = 2};
    s.natural = a.natural && b.natural;
    s.positive = a.value > 0 && b.value > 0;
    s.values[0] = a.value;
    s.values[1] = b.value;
    return s;
}

/* The whole; `edits`: of the uses, or NULL. */
static bool build(const gg_rule_input *in, gg_arena *arena, gg_edits *edits, TSNode *out_node, gg_str *out) {
    choice c;
    if (!find(in, &c) || gg__has_comment(in->tree, gg_node_span(c.node))) return false;
    *out_node = c.node;
    gg__meta a = gg__infer(in, c.yes), b = gg__infer(in, c.no);
    bool known = a.sort == b.sort && (a.sort == GG__SCALAR_FLOAT || a.sort == GG__SCALAR_INT);
    if (!known || !is_single(a) || !is_single(b) || !gg__can_name(in->tree, c.node, "torch")) return false;
    gg_str dtype = a.sort == GG__SCALAR_INT ? GG_STR("torch.int64") : GG_STR("torch.float32");
    gg__widening widening;
    if (!gg__scalar_replace(in, c.node, c.name, scalar_of(a, b), dtype, &widening, arena, edits)) return false;
    gg__select s;
    gg__test test;
    gg__select_init(&s, in, c.node, arena);
    bool tested = gg__test_of(&s, NULL, c.condition, &test);
    if (tested) {
        gg_str text = gg__where(&s, test, gg__text(in->tree, gg__strip_parentheses(c.yes)),
                                gg__text(in->tree, gg__strip_parentheses(c.no)));
        gg_str name = ts_node_is_null(c.name) ? GG_STR_NULL : gg__text(in->tree, c.name);
        *out = gg_arena_printf(arena, "%.*s%s%.*s%s", GG_STR_ARG(name), name.len ? " = " : "", GG_STR_ARG(text),
                               widening == GG__TO_DOUBLE ? ".double()" : "");
    }
    gg__select_clear(&s);
    return tested;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_str text;
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    bool done = build(in, arena, NULL, &out->node, &text);
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    gg_str text;
    if (!build(in, arena, out, &node, &text))
        return gg_fail(err, GG_ENOMATCH, "a tensor cannot do what the number does");
    gg__require_module(in->tree, node, "torch", arena, out);
    gg_edits_add(out, gg_node_span(node), text);
    return 0;
}

const gg_rule gg_rule_select_number = {
    .code = "GG012",
    .name = "select-number",
    .title = "Select the number as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
