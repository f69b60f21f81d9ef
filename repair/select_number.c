/* A tensor decides which of two numbers is used: the number as a tensor.  See select.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
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

static bool build(const gg_rule_input *in, bool approximate, gg_arena *arena, gg_edits *edits, TSNode *out_node,
                  gg_str *out) {
    choice c;
    if (!find(in, &c) || gg__has_comment(in->tree, gg_node_span(c.node))) return false;
    *out_node = c.node;
    gg__meta a = gg__infer(in, c.yes), b = gg__infer(in, c.no);
    bool known = a.sort == b.sort && (a.sort == GG__SCALAR_FLOAT || a.sort == GG__SCALAR_INT);
    if (!gg__can_name(in->tree, c.node, "torch")) return false;
    if (!known || !is_single(a) || !is_single(b))
        return gg__is_number(a) && gg__is_number(b) &&
               gg__hinder(in, c.node, "chooses between numbers that are no constants of one kind");
    gg__replacement r = {.node = c.node, .name = c.name, .scalar = scalar_of(a, b), .approximate = approximate};
    r.dtype = a.sort == GG__SCALAR_INT ? GG_STR("torch.int64") : GG_STR("torch.float32");
    if (!gg__scalar_replace(in, &r, arena, edits)) return false;
    gg__select s;
    gg__test test;
    gg__select_init(&s, in, c.node, arena);
    bool tested = gg__test_of(&s, NULL, c.condition, &test) || gg__test_drawn(&s, c.condition, &test);
    tested = tested && (!s.on_cpu || gg__facts_on_cpu(in)); /* the number would be a tensor there */
    if (tested) {
        gg_str text = gg__where(&s, test, gg__text(in->tree, gg__strip_parentheses(c.yes)),
                                gg__text(in->tree, gg__strip_parentheses(c.no)));
        gg_str name = ts_node_is_null(c.name) ? GG_STR_NULL : gg__text(in->tree, c.name);
        *out = gg_arena_printf(arena, "%.*s%s%.*s%s", GG_STR_ARG(name), name.len ? " = " : "", GG_STR_ARG(text),
                               r.widening == GG__TO_DOUBLE ? ".double()" : "");
    }
    gg__select_clear(&s);
    return tested;
}

bool gg__select_number(const gg_rule_input *in, bool approximate, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    gg_str text = GG_STR_NULL;
    if (!gg__is_branch(in)) return false;
    gg_arena *own = gg_arena_new(); /* the texts of edits that nobody asked for */
    bool done = !(approximate && build(in, false, own, NULL, out_node, &text)) &&
                build(in, approximate, arena ? arena : own, edits, out_node, &text);
    gg_arena_free(own);
    if (!done || edits == NULL) return done;
    gg__require_module(in->tree, *out_node, "torch", arena, edits);
    gg_edits_add(edits, gg_node_span(*out_node), text);
    return true;
}
