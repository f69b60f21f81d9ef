/* GG033 list-by-tensor: an element of a list of tensors is chosen by a tensor's value, which a graph does not know.
 * Offers: to stack the list and index that.  Refuses: unless the list is written out in the same function, used nowhere else, and its elements
 * are proven to be new tensors that are alike and get gradients from the same tensors; where code around it may catch the IndexError.
 * Safety: effects (an index that is not there is told in other words).  Page: docs/rules/GG033.md */
#include "repair/scalar.h"

typedef struct choice {
    TSNode subscript, list; /* `l[…]`; `l` there */
    TSNode index;           /* the 0-d tensor */
    TSNode display;         /* `[a, b]` that l was bound to */
} choice;

static bool is_index(const gg_rule_input *in, TSNode node, TSNode *out) {
    gg__extraction e;
    *out = node;
    if (gg__match_extraction(in, node, &e)) {
        if (e.scalar.sort != GG__SCALAR_INT) return false;
        *out = e.value;
    }
    gg__meta m = gg__infer(in, *out);
    return m.sort == GG__TENSOR && m.rank == 0 && !m.vague &&
           (gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"));
}

typedef struct search {
    const gg_tree *tree;
    const choice *c;
    gg_str name;
} search;

/* Is the list used nowhere else, and what its elements read bound no more behind it? */
static bool is_settled(TSNode node, void *data) {
    const search *s = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str text = gg__text(s->tree, node);
    uint32_t start = ts_node_start_byte(node);
    if (gg__watches_names(s->tree, node)) return false;
    bool its_own = start == ts_node_start_byte(s->c->list) ||
                   start == ts_node_start_byte(gg__field(gg__parent(s->c->display), "left"));
    if (gg_str_equal(text, s->name)) return its_own;
    return start < ts_node_start_byte(s->c->display) || !gg__is_binding(node) ||
           !gg__reads(s->tree, s->c->display, text);
}

/* The list's assignment, which has run just once whenever the element is chosen. */
static TSNode display_of(const gg_tree *tree, TSNode use, gg_str name) {
    TSNode function = gg__function(use);
    for (TSNode at = gg__statement(use); !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at)) {
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) return (TSNode){0};
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode assignment = gg__child(before, 0), right = gg__field(assignment, "right");
            if (gg_node_is(before, "expression_statement") && gg_node_is(assignment, "assignment") &&
                gg_str_equal(gg__text(tree, gg__field(assignment, "left")), name))
                return gg_node_is(right, "list") || gg_node_is(right, "tuple") ? right : (TSNode){0};
        }
    }
    return (TSNode){0};
}

/* What requires gradients is the same for both: they read the same tensors, and none is cut off. */
static bool same_sources(const gg_rule_input *in, TSNode a, TSNode b) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++) {
        gg_str name = record->facts[i].name;
        if (record->facts[i].kind != GG_VALUE_TENSOR) continue;
        bool dotted = gg_str_contains(name, GG_STR("."));
        bool in_a = dotted ? gg_str_contains(gg__text(in->tree, a), name) : gg__reads(in->tree, a, name);
        bool in_b = dotted ? gg_str_contains(gg__text(in->tree, b), name) : gg__reads(in->tree, b, name);
        if (in_a != in_b) return false;
    }
    return !gg_str_contains(gg__text(in->tree, b), GG_STR("detach"));
}

static bool are_alike(const gg_rule_input *in, TSNode display) {
    TSNode first = gg__child(display, 0);
    gg__meta m = gg__infer(in, first);
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode element = gg__child(display, i);
        gg__meta other = gg__infer(in, element);
        if (!gg__same_tensor(m, other) || other.layout.len || other.vague || !other.fresh || !other.smooth ||
            !same_sources(in, first, element))
            return false;
    }
    return gg__child_count(display) > 0;
}

/* `l[n] = v`, `del l[n]`: no reading */
static bool is_target(TSNode node) {
    TSNode parent = gg__parent(node);
    return ts_node_eq(gg__field(parent, "left"), node) || gg_node_is(parent, "delete_statement");
}

static bool find(const gg_rule_input *in, choice *c) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    TSNode function = gg__function(at);
    if (!gg_node_is(at, "subscript") || in->site->first == NULL || gg__child_count(at) != 2 ||
        !gg_node_is(function, "function_definition"))
        return false;
    *c = (choice){.subscript = at, .list = gg__field(at, "value")};
    gg_str name = gg__text(in->tree, c->list);
    if (!gg_node_is(c->list, "identifier") || !is_index(in, gg__field(at, "subscript"), &c->index)) return false;
    c->display = display_of(in->tree, at, name);
    search s = {in->tree, c, name};
    return !ts_node_is_null(c->display) && gg__visit(function, is_settled, &s) && are_alike(in, c->display) &&
           !gg__is_watched(in->tree, gg__statement(at)) && !gg__has_comment(in->tree, gg_node_span(at)) &&
           gg__can_name(in->tree, at, "torch") && !is_target(at);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    choice c;
    if (!gg_str_is(in->site->id, "GB0124") || !find(in, &c)) return false;
    out->node = c.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    choice c;
    if (!find(in, &c)) return gg_fail(err, GG_ENOMATCH, "the list's elements are not proven to be alike");
    gg_str torch = gg__require_module(in->tree, c.subscript, "torch", arena, out);
    bool loose = gg_node_is(c.index, "binary_operator") || gg_node_is(c.index, "unary_operator");
    /* With one dimension, since Dynamo makes a number of an index without. */
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.stack(%.*s)[%s%.*s%s[None]][0]", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__text(in->tree, c.list)), loose ? "(" : "",
                                 GG_STR_ARG(gg__text(in->tree, c.index)), loose ? ")" : ""));
    return 0;
}

const gg_rule gg_rule_list_by_tensor = {
    .code = "GG033",
    .name = "list-by-tensor",
    .title = "Choose the element of a stack",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
