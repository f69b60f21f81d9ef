/* A tensor decides which of two numbers is used: the number as a tensor.  See select.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

/* What a tensor decides: a conditional expression, or an `if` and its `else` that assign to one name, or what that name was given before. */
typedef struct choice {
    TSNode node, condition, yes, no; /* node: what becomes the tensor */
    TSNode name;                     /* of the assignments; else null */
    bool before;                     /* `no` is in front of it */
} choice;

/* The assignment that is all of a block. */
static TSNode only_assignment(TSNode block) {
    return gg__child_count(block) == 1 ? gg__assignment(gg__child(block, 0)) : (TSNode){0};
}

/* `scale = 1.0` in front of `if c: scale = 0.5`, in the same block. */
static bool find_before(const gg_rule_input *in, TSNode node, choice *out) {
    TSNode yes = only_assignment(gg__field(node, "consequence"));
    *out = (choice){.node = node, .condition = gg__field(node, "condition"), .before = true};
    out->name = gg__field(yes, "left");
    out->yes = gg__field(yes, "right");
    if (ts_node_is_null(yes)) return false;
    out->no = gg__given_before(in->tree, node, gg__text(in->tree, out->name));
    return !ts_node_is_null(out->no);
}

static bool find_statement(const gg_rule_input *in, TSNode node, choice *out) {
    TSNode other = gg__child_count(node) == 3 ? gg__field(node, "alternative") : (TSNode){0};
    if (gg__child_count(node) == 2) return find_before(in, node, out);
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

/* May the tensor be changed between, under a name that it has elsewhere? */
static bool shows(const gg_rule_input *in, const choice *c, TSNode value, gg__meta m) {
    TSNode statement = gg__statement(c->node), left = gg__field(gg__assignment(statement), "left");
    TSNode name = ts_node_is_null(c->name) ? left : c->name;
    return !m.fresh && !ts_node_is_null(name) && gg__alias_shows(in, statement, value, gg__text(in->tree, name));
}

/* … of a constant and a tensor without dimensions, which stays of its dtype: it may meet others of that only. */
static bool of_tensor(const gg__select *s, const choice *c, bool first, gg__replacement *r) {
    TSNode value = first ? c->yes : c->no;
    gg__meta tensor = gg__infer(s->in, value), number = gg__infer(s->in, first ? c->no : c->yes);
    if (c->before || !gg__selectable(s, tensor) || tensor.rank != 0 || (tensor.vague && tensor.vague != GG__DEFAULT) ||
        tensor.layout.len || !gg_str_is(tensor.dtype, "torch.float32") || number.sort != GG__SCALAR_FLOAT ||
        !number.constant || shows(s->in, c, value, tensor))
        return false;
    r->scalar = (gg__scalar){.sort = GG__SCALAR_FLOAT, .magnitude = fabs(number.value)};
    r->dtype = tensor.dtype;
    r->one_dtype = true;
    r->by_default = tensor.vague == GG__DEFAULT;
    return true;
}

static bool test_of(gg__select *s, const choice *c, gg__test *out) {
    bool tested = gg__test_of(s, NULL, c->condition, out) || gg__test_drawn(s, c->condition, out);
    return tested && (!s->on_cpu || gg__facts_on_cpu(s->in)); /* the number would be a tensor there */
}

static bool fit(gg__select *s, const choice *c, gg__replacement *r, bool *wide) {
    const gg_rule_input *in = s->in;
    gg__meta a = gg__infer(in, c->yes), b = gg__infer(in, c->no);
    if (a.sort == GG__TENSOR || b.sort == GG__TENSOR) return of_tensor(s, c, a.sort == GG__TENSOR, r);
    return gg__of_constants(a, b, r, wide) ||
           (gg__is_number(a) && gg__is_number(b) &&
            gg__hinder(in, c->node, "chooses between numbers that are no constants of one kind"));
}

static bool build(const gg_rule_input *in, bool approximate, gg_arena *arena, gg_edits *edits, TSNode *out_node,
                  gg_str *out) {
    choice c;
    if (!find(in, &c) || gg__has_comment(in->tree, gg_node_span(c.node)) || !gg__can_name(in->tree, c.node, "torch"))
        return false;
    *out_node = c.node;
    gg__replacement r = {.node = c.node, .name = c.name, .approximate = approximate};
    gg__select s;
    gg__test test;
    bool wide = false;
    gg__select_init(&s, in, c.node, arena);
    s.finite = gg__asks_finiteness(in->tree, c.condition);
    bool done = fit(&s, &c, &r, &wide) && gg__scalar_replace(in, &r, arena, edits) && test_of(&s, &c, &test);
    if (done) {
        gg_str yes = gg__text(in->tree, gg__strip_parentheses(c.yes)); /* of the two, one that is wide is enough */
        if (wide) yes = gg__wide_text(s.torch, yes, arena);
        gg_str name = ts_node_is_null(c.name) ? GG_STR_NULL : gg__text(in->tree, c.name);
        gg_str no = c.before ? name : gg__text(in->tree, gg__strip_parentheses(c.no));
        gg_str text = gg__where(&s, test, yes, no);
        *out = gg_arena_printf(arena, "%.*s%s%.*s%s", GG_STR_ARG(name), name.len ? " = " : "", GG_STR_ARG(text),
                               r.widening == GG__TO_DOUBLE && !wide ? ".double()" : "");
    }
    gg__select_clear(&s);
    return done;
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
