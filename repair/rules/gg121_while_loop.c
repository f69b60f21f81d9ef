/* GG121 while-loop: a `while` that ends when a tensor says so, after nobody knows how many iterations.
 * Offers: the condition and the body as functions, for the compiler's own while_loop; without the compiler a loop of Python's calls them.
 * Refuses: a body that is more than assignments to names, names that hold no tensors from one iteration to the next (but numbers that it counts for the
 * condition only), and what a name held before the loop where it shows that it holds a copy of it behind it.
 * Safety: exact.  Page: docs/rules/GG121.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/outline.h"

typedef struct loop {
    gg__select s;
    TSNode node, condition, body;
    gg__names carried;  /* from one iteration to the next, or out of the loop */
    gg__names counters; /* … of which these are numbers of Python's, for the condition only */
    gg__arm arm, inner; /* of the condition; behind the body */
    gg__test test;
} loop;

static TSNode find_while(const gg_rule_input *in) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at))
        if (gg_node_is(at, "while_statement") && gg__covers(gg__field(at, "condition"), in->span)) return at;
    return (TSNode){0};
}

/* `i += 1`, and nothing else in the body has the name. */
static bool is_counted(const loop *l, gg_str name) {
    const gg_tree *tree = l->s.in->tree;
    bool counted = false;
    for (uint32_t i = 0; i < gg__child_count(l->body); i++) {
        TSNode statement = gg__child(l->body, i), change = gg__child(statement, 0), by = gg__field(change, "right");
        if (!gg__reads(tree, statement, name)) continue;
        gg_str op = gg__text(tree, gg__field(change, "operator"));
        if (counted || !gg_node_is(change, "augmented_assignment") || !gg_node_is(by, "integer") ||
            !(gg_str_is(op, "+=") || gg_str_is(op, "-=")))
            return false;
        counted = true;
    }
    return counted && !gg__is_live(&l->s, name);
}

static bool add_counter(loop *l, gg_str name) {
    const gg_fact *fact = gg__fact_of(l->s.in, name);
    if (!fact || fact->kind != GG_VALUE_INT || !is_counted(l, name) || l->arm.count == GG__MAX_BINDINGS) return false;
    gg__meta m = {.sort = GG__TENSOR, .dtype = GG_STR("torch.int64"), .device = GG_STR("cpu"), .fresh = true};
    l->arm.items[l->arm.count++] = (gg__binding){.name = name, .text = name, .meta = m};
    gg__names_add(&l->counters, name);
    return true;
}

typedef struct naming {
    const gg_tree *tree;
    gg_str name;
} naming;

static bool is_of_name(TSNode node, void *data) {
    const naming *n = data;
    return !gg_node_is(node, "identifier") || gg__is_member_name(node) ||
           gg_str_equal(gg__text(n->tree, node), n->name) || gg__refers_to(n->tree, node, "torch") ||
           gg__refers_to(n->tree, node, "torch.nn.functional");
}

/* In place the tensor keeps its dtype and sizes, whatever those of another one are: a number has none, nor has what is made of it alone others. */
static bool keeps_kind(const loop *l, TSNode value, gg_str name) {
    naming n = {l->s.in->tree, name};
    return gg__is_number(gg__infer_loosely(l->s.in, value)) || gg__visit(value, is_of_name, &n);
}

/* `h += v` is `h = h + v` where nobody else holds the tensor. */
static bool may_rebind(const loop *l, TSNode change) {
    static const char *const ops[] = {"+=", "-=", "*=", "/=", "@="};
    const gg_tree *tree = l->s.in->tree;
    TSNode name = gg__field(change, "left");
    gg_str text = gg__text(tree, name);
    if (gg__names_have(&l->counters, text)) return true;
    return gg_node_is(name, "identifier") &&
           gg__is_one_of(gg__text(tree, gg__field(change, "operator")), ops, GG_COUNT(ops)) &&
           keeps_kind(l, gg__field(change, "right"), text) && gg__owns(l->s.in, l->node, text);
}

static bool learn(loop *l, gg_str name) {
    const gg_rule_input *in = l->s.in;
    const gg_tree *tree = in->tree;
    bool taken = gg__takes(tree, gg__stretch_of(l->body), name) || gg__reads(tree, l->condition, name);
    if (!taken && !gg__is_live(&l->s, name)) return true;
    if (!gg__bound_before(tree, l->node, name)) {
        if (gg__is_live(&l->s, name))
            return gg__hinder(in, l->node, "may end before `%.*s` is bound", GG_STR_ARG(name));
        return !gg__reads_first(tree, gg__stretch_of(l->body), name) ||
               gg__hinder(in, l->node, "may read `%.*s` of the iteration before", GG_STR_ARG(name));
    }
    if (!gg__is_unread_inside(in, l->node, name)) return false;
    gg__names_add(&l->carried, name);
    if (add_counter(l, name)) return true;
    if (!gg__holds_tensor(in, name))
        return gg__hinder(in, l->node, "`%.*s` is no tensor, and changes from one iteration to the next",
                          GG_STR_ARG(name));
    return true;
}

typedef struct bound_node {
    const gg_tree *tree;
    gg_str name;
    TSNode found;
} bound_node;

static bool find_binding(TSNode node, void *data) {
    bound_node *b = data;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node) || !gg_str_equal(gg__text(b->tree, node), b->name))
        return true;
    b->found = node;
    return false;
}

static TSNode binding_of(const loop *l, gg_str name) {
    bound_node b = {.tree = l->s.in->tree, .name = name};
    gg__visit(l->body, find_binding, &b);
    return b.found;
}

/* What it held before may be what it ends with: then it is a copy. */
static bool may_be_copied(loop *l, gg_str name) {
    TSNode bound = binding_of(l, name);
    if (!gg__is_live(&l->s, name) || gg__owns(l->s.in, l->node, name)) return true;
    if (gg__alias_shows(l->s.in, l->node, bound, name))
        return gg__hinder(l->s.in, bound, "other code may hold this tensor, and the loop gives a new one");
    l->s.copies = l->s.copies || gg__is_copy(l->s.in, l->node, bound, name);
    return true;
}

static bool changes_in_place(TSNode node, void *data) {
    const loop *l = data;
    return !gg_node_is(node, "augmented_assignment") || may_rebind(l, node);
}

/* Under autocast it has another dtype than in front of the loop where what is there is none of a matrix product. */
static bool begins_alike(loop *l, gg_str name, TSNode value) {
    const gg_rule_input *in = l->s.in;
    TSNode before = gg__value_among(in->tree, l->node, name);
    gg__meta m = gg__outlined_meta(&l->s, &l->inner, value);
    gg__meta old = gg__outlined_meta(&l->s, NULL, binding_of(l, name));
    if (!ts_node_is_null(before)) {
        gg__meta given = gg__outlined_meta(&l->s, NULL, before);
        if (given.sort == GG__TENSOR) old.vague = given.vague;
    }
    if (gg__reads(in->tree, value, name)) before = value;
    return gg__may_be_alike(&l->s, l->node, name, m, value, old, ts_node_is_null(before) ? l->node : before);
}

static bool leaves_tensors(loop *l) {
    const gg_rule_input *in = l->s.in;
    for (size_t i = 0; i < l->carried.count; i++) {
        gg_str name = l->carried.items[i];
        TSNode value = gg__left_in(in->tree, gg__stretch_of(l->body), name);
        if (gg__names_have(&l->counters, name)) continue;
        if (!ts_node_is_null(value)) {
            if (gg__is_no_tensor(&l->s, &l->inner, value))
                return gg__hinder(in, value, "is no tensor, and changes from one iteration to the next");
            if (!begins_alike(l, name, value)) return false;
        }
        if (!may_be_copied(l, name)) return false;
    }
    return true;
}

/* Clear l->s in any case. */
static bool look(const gg_rule_input *in, loop *l, gg_arena *arena) {
    TSNode none = {0};
    *l = (loop){.node = find_while(in)};
    gg__select_init(&l->s, in, gg__statement(gg_node_at(in->tree, in->span)), arena);
    if (ts_node_is_null(l->node) || !gg__can_name(in->tree, l->node, "torch") || !gg__may_define(in->tree, l->node))
        return false;
    l->condition = gg__field(l->node, "condition");
    l->body = gg__field(l->node, "body");
    l->s.statement = l->node;
    if (!ts_node_is_null(gg__field(l->node, "alternative")) || !gg__alone_on_line(in->tree, l->node) ||
        !gg__starts_line(in->tree, ts_node_start_byte(l->body)) || !gg__may_outline(in, gg__stretch_of(l->body), none))
        return false;
    gg__names bound = {0};
    gg__names_bound(in->tree, gg__stretch_of(l->body), &bound);
    for (size_t i = 0; i < bound.count; i++)
        if (!learn(l, bound.items[i])) return false;
    if (bound.full || l->carried.count == l->counters.count)
        return gg__hinder(in, l->node, "no tensor changes from one iteration to the next");
    return gg__visit(l->body, changes_in_place, l) && gg__learn_block(&l->s, &l->inner, gg__stretch_of(l->body)) &&
           leaves_tensors(l) && gg__outlined_test(&l->s, &l->arm, l->condition, &l->test);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    loop *l = gg_arena_alloc(arena, sizeof(*l));
    bool found = look(in, l, arena);
    out->node = l->node;
    gg__select_clear(&l->s);
    gg_arena_free(arena);
    return found;
}

typedef struct rewriting {
    loop *l;
    gg_edits *out;
} rewriting;

static bool rebind(TSNode node, void *data) {
    const rewriting *r = data;
    const gg_tree *tree = r->l->s.in->tree;
    if (!gg_node_is(node, "augmented_assignment")) return true;
    TSNode op = gg__field(node, "operator"), right = gg__field(node, "right");
    gg_str name = gg__text(tree, gg__field(node, "left")), text = gg__text(tree, op);
    bool loose = gg_node_is(right, "binary_operator") || gg__needs_parentheses(right);
    gg_edits_add(r->out, gg_node_span(op),
                 gg_arena_printf(r->l->s.arena, "= %.*s %.*s", GG_STR_ARG(name), (int)text.len - 1, text.ptr));
    if (!loose) return true;
    gg_edits_add(r->out, gg_node_span(right),
                 gg_arena_printf(r->l->s.arena, "(%.*s)", GG_STR_ARG(gg__text(tree, right))));
    return true;
}

/* `(h, i)` as the operator gets it: a counter as a tensor, where the others are, and a copy of what the functions may read under another name. */
static gg_str given(loop *l) {
    gg_str first = GG_STR_NULL, out = GG_STR("");
    for (size_t i = 0; i < l->carried.count && first.len == 0; i++)
        if (!gg__names_have(&l->counters, l->carried.items[i])) first = l->carried.items[i];
    for (size_t i = 0; i < l->carried.count; i++) {
        gg_str name = l->carried.items[i];
        if (gg__names_have(&l->counters, name))
            name = gg_arena_printf(l->s.arena, "%.*s.tensor(%.*s, device=%.*s.device)", GG_STR_ARG(l->s.torch),
                                   GG_STR_ARG(name), GG_STR_ARG(first));
        else if (!gg__owns(l->s.in, l->node, name))
            name = gg_arena_printf(l->s.arena, "%.*s.clone()", GG_STR_ARG(name));
        out = gg_arena_printf(l->s.arena, "%.*s%s%.*s", GG_STR_ARG(out), i ? ", " : "", GG_STR_ARG(name));
    }
    return out;
}

/* What the body gives: each name, and a copy where it is a tensor that others hold. */
static gg_str results(loop *l) {
    gg_str out = GG_STR("");
    for (size_t i = 0; i < l->carried.count; i++) {
        gg_str name = l->carried.items[i];
        TSNode value = gg__left_in(l->s.in->tree, gg__stretch_of(l->body), name);
        bool held = !ts_node_is_null(value) && gg__is_held(&l->s, &l->inner, value);
        out = gg_arena_printf(l->s.arena, "%.*s%s%.*s%s", GG_STR_ARG(out), i ? ", " : "", GG_STR_ARG(name),
                              held ? ".clone()" : "");
    }
    return out;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    loop *l = gg_arena_alloc(arena, sizeof(*l));
    bool found = look(in, l, arena);
    if (found) {
        gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out), nl = l->s.newline;
        gg_str indent = gg__indent(in->tree, ts_node_start_byte(l->node)), unit = gg__indent_unit(in->tree);
        gg_str inner = gg__indent(in->tree, ts_node_start_byte(l->body));
        gg_str names = gg__names_text(&l->carried, arena), comma = l->carried.count == 1 ? GG_STR(",") : GG_STR("");
        bool first = ts_node_is_null(ts_node_prev_named_sibling(l->node));
        uint32_t start = ts_node_start_byte(l->node) - (uint32_t)indent.len; /* the blank line is empty */
        gg_str apart = first ? GG_STR("") : nl;
        gg__stretch body = gg__stretch_of(l->body);
        gg_str only = gg__unless_differentiated(&l->s, &l->carried, &body, 1,
                                                torch); /* torch 2.13 gives wrong ones of some loops */
        gg_str goes_on = gg__new_name(&l->s, "goes_on"), step = gg__new_name(&l->s, "step");
        gg_edits_add(out, (gg_span){start, ts_node_end_byte(l->condition)},
                     gg_arena_printf(arena, "%.*s%.*sdef %.*s(%.*s):%.*s%.*sreturn %.*s%.*s%.*s%.*sdef %.*s(%.*s)",
                                     GG_STR_ARG(apart), GG_STR_ARG(indent), GG_STR_ARG(goes_on), GG_STR_ARG(names),
                                     GG_STR_ARG(nl), GG_STR_ARG(inner), GG_STR_ARG(gg__truth_text(&l->s, l->test)),
                                     GG_STR_ARG(nl), GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(step),
                                     GG_STR_ARG(names)));
        rewriting r = {l, out};
        gg__visit(l->body, rebind, &r);
        uint32_t end = ts_node_end_byte(l->body);
        gg_str back = gg_arena_printf(arena, "%.*s%.*sreturn (%.*s%.*s)%.*s%.*s%.*s", GG_STR_ARG(nl), GG_STR_ARG(inner),
                                      GG_STR_ARG(results(l)), GG_STR_ARG(comma), GG_STR_ARG(nl), GG_STR_ARG(nl),
                                      GG_STR_ARG(indent));
        gg_edits_add(out, (gg_span){end, end},
                     gg_arena_printf(
                         arena,
                         "%.*sif %.*s.compiler.is_compiling() and %.*s:%.*s%.*s%.*s(%.*s%.*s) = %.*s.while_loop(%.*s, "
                         "%.*s, (%.*s%.*s))"
                         "%.*s%.*selse:%.*s%.*s%.*swhile %.*s(%.*s):%.*s%.*s%.*s%.*s(%.*s%.*s) = %.*s(%.*s)",
                         GG_STR_ARG(back), GG_STR_ARG(torch), GG_STR_ARG(only), GG_STR_ARG(nl), GG_STR_ARG(indent),
                         GG_STR_ARG(unit), GG_STR_ARG(names), GG_STR_ARG(comma), GG_STR_ARG(torch), GG_STR_ARG(goes_on),
                         GG_STR_ARG(step), GG_STR_ARG(given(l)), GG_STR_ARG(comma), GG_STR_ARG(nl), GG_STR_ARG(indent),
                         GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(unit), GG_STR_ARG(goes_on), GG_STR_ARG(names),
                         GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(unit), GG_STR_ARG(unit), GG_STR_ARG(names),
                         GG_STR_ARG(comma), GG_STR_ARG(step), GG_STR_ARG(names)));
        out->copies = l->s.copies;
    }
    gg__select_clear(&l->s);
    return found ? 0 : gg_fail(err, GG_ENOMATCH, "the loop is not proven to be one of the compiler's");
}

const gg_rule gg_rule_while_loop = {
    .code = "GG121",
    .name = "while-loop",
    .title = "Hand the loop to the compiler, as torch.while_loop",
    .safety = GG_SAFETY_EXACT,
    .last_resort = true,
    .check = check,
    .edit = edit,
};
