/* The indices of a mask, `i = torch.where(c)[0]`, and all that reads them, as the mask itself.  See masks.h.
 *
 * DESIGN  `x[i]` is `x[c]`: the same elements in the same order.  So the name is bound to the mask, and the rules for masks and branches mend what reads it,
 * one after the other, each in the text that the one before gives, with the facts of that place.  Their edits are given as one, of whole lines. */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

enum { MAX_STEPS = 8 };

typedef struct indices {
    const gg_rule_input *in;
    gg_arena *arena;
    TSNode statement, assignment, condition;
    TSNode names[GG__MAX_RANK];
    uint32_t count, uses;
    gg__meta of; /* the condition */
    gg_str name; /* the first, which the mask gets */
    gg_edits first;
} indices;

/* ---- the binding --------------------------------------------------------------------------------------------------------------- */

static bool name_them(indices *x, TSNode left, bool pattern) {
    if (!pattern) {
        x->names[x->count++] = left;
        return gg_node_is(left, "identifier") && x->of.rank == 1;
    }
    uint32_t count = gg__child_count(left);
    if (count != (uint32_t)x->of.rank) return false;
    for (uint32_t i = 0; i < count; i++) {
        TSNode name = gg__child(left, i);
        if (!gg_node_is(name, "identifier")) return false;
        for (uint32_t k = 0; k < i; k++)
            if (gg_str_equal(gg__text(x->in->tree, name), gg__text(x->in->tree, x->names[k]))) return false;
        x->names[x->count++] = name;
    }
    return true;
}

static bool match_binding(indices *x) {
    const gg_rule_input *in = x->in;
    x->statement = gg__statement(gg_node_at(in->tree, in->span));
    x->assignment = gg__child(x->statement, 0);
    TSNode left = gg__field(x->assignment, "left"), right = gg__strip_parentheses(gg__field(x->assignment, "right"));
    TSNode which;
    bool pattern = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    if (!gg_node_is(x->statement, "expression_statement") || !gg_node_is(x->assignment, "assignment") ||
        !ts_node_is_null(gg__field(x->assignment, "type")) || gg__has_comment(in->tree, gg_node_span(x->statement)))
        return false;
    x->condition = gg__chosen_by(in, x->assignment, &which);
    if (ts_node_is_null(x->condition) || !gg__covers(right, in->span) ||
        (!ts_node_is_null(which) && !gg_str_is(gg__text(in->tree, which), "0")))
        return false;
    x->of = gg__infer_loosely(in, x->condition); /* evaluated where it was */
    /* a single row would be stored everywhere where there are more of the other */
    return x->of.sort == GG__TENSOR && x->of.rank > 0 && x->of.shape[0] > 1 && name_them(x, left, pattern);
}

/* ---- what reads the names ----------------------------------------------------------------------------------------------------- */

/* `a[i, j]`, with all names in their order, and nothing else: their subscript; else null. */
static TSNode subscript_of(const indices *x, TSNode name) {
    TSNode at = gg__parent(name), none = {0}, read[GG__MAX_RANK];
    if (gg_node_is(at, "tuple")) at = gg__parent(at);
    if (!gg_node_is(at, "subscript") || gg__covers(gg__field(at, "value"), gg_node_span(name))) return none;
    if (gg__indices_of(at, read, GG__MAX_RANK) != x->count) return none;
    for (uint32_t i = 0; i < x->count; i++)
        if (!gg_node_is(read[i], "identifier") ||
            !gg_str_equal(gg__text(x->in->tree, read[i]), gg__text(x->in->tree, x->names[i])))
            return none;
    return at;
}

/* `len(i)` and its like, in the condition of a branch. */
static bool is_counted(indices *x, TSNode name) {
    bool elements;
    for (TSNode at = gg__parent(name); !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at)) {
        if (!ts_node_eq(gg__size_asked(x->in->tree, at, &elements), name)) continue;
        if (!gg__asks_number(x->in, GG_STR("torch.int64"), at)) return false;
        gg_edits_add(&x->first, gg_node_span(at), gg_arena_printf(x->arena, "%.*s.sum()", GG_STR_ARG(x->name)));
        return true;
    }
    return false;
}

static bool is_one_of_them(const indices *x, gg_str name) {
    for (uint32_t i = 0; i < x->count; i++)
        if (gg_str_equal(gg__text(x->in->tree, x->names[i]), name)) return true;
    return false;
}

/* Behind the binding, in its block. */
static bool is_behind(const indices *x, TSNode node) {
    TSNode block = gg__parent(x->statement);
    return gg__covers(block, gg_node_span(node)) && ts_node_start_byte(node) >= ts_node_end_byte(x->statement) &&
           ts_node_eq(gg__function(node), gg__function(x->statement));
}

static bool collect_use(TSNode node, void *data) {
    indices *x = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (gg__watches_names(x->in->tree, node)) return false;
    if (!is_one_of_them(x, gg__text(x->in->tree, node))) return true;
    if (gg__covers(gg__field(x->assignment, "left"), gg_node_span(node))) return true;
    if (gg__is_binding(node) || !is_behind(x, node)) return false;
    TSNode subscript = subscript_of(x, node);
    x->uses++;
    if (ts_node_is_null(subscript)) return gg_str_equal(gg__text(x->in->tree, node), x->name) && is_counted(x, node);
    bool leads = gg_str_equal(gg__text(x->in->tree, node), x->name) && x->count > 1;
    if (leads) {
        TSNode read[GG__MAX_RANK];
        uint32_t count = gg__indices_of(subscript, read, GG__MAX_RANK);
        gg_edits_add(&x->first, (gg_span){ts_node_start_byte(read[0]), ts_node_end_byte(read[count - 1])}, x->name);
    }
    return true;
}

static bool never(TSNode node, void *data) {
    (void)node;
    (void)data;
    return false;
}

/* The mask as it is when the name is bound: a copy of what may be changed later. */
static gg_str mask_text(const indices *x) {
    const gg_rule_input *in = x->in;
    TSNode c = gg__strip_parentheses(x->condition);
    gg_str operand = gg__operand_text(in, c, x->arena);
    if (!gg__is_bool(x->of.dtype) || !gg__has_certain_dtype(in, c))
        return gg_arena_printf(x->arena, "%.*s != 0", GG_STR_ARG(operand));
    bool keeps =
        x->of.fresh || gg__each_change(in, gg__function(x->statement), ts_node_end_byte(x->statement), never, NULL);
    return keeps ? gg__text(in->tree, c) : gg_arena_printf(x->arena, "%.*s.clone()", GG_STR_ARG(operand));
}

static bool begin(indices *x) {
    if (!gg_str_is(x->in->site->id, "GB0036") || x->in->site->first == NULL || !match_binding(x)) return false;
    TSNode function = gg__function(x->statement);
    x->name = gg__text(x->in->tree, x->names[0]);
    if (!gg_node_is(function, "function_definition") || !gg__can_name(x->in->tree, x->statement, "torch") ||
        !gg__visit(function, collect_use, x) || x->uses == 0)
        return false;
    gg_str mask = mask_text(x);
    gg_edits_add(&x->first, gg_node_span(x->assignment),
                 gg_arena_printf(x->arena, "%.*s = %.*s", GG_STR_ARG(x->name), GG_STR_ARG(mask)));
    return true;
}

/* ---- one step after the other ------------------------------------------------------------------------------------------------- */

typedef struct step {
    const indices *x;
    const gg_tree *tree;
    gg__scalar_uses *then;
    TSNode chosen, asked; /* `a[i]` that breaks; `i.sum()` in a condition */
} step;

static bool is_done(TSNode node, void *data) {
    step *s = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(s->tree, node), s->x->name)) return true;
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    if (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "subscript"), node)) {
        bool stores = ts_node_eq(gg__field(around, "left"), parent);
        if (stores && gg__is_masked_fill(&s->then->in, around)) return true;
        s->chosen = parent;
        return false;
    }
    bool counts = gg_node_is(parent, "attribute") && gg__asks_number(&s->then->in, GG_STR("torch.int64"), around);
    if (counts && ts_node_is_null(s->asked)) s->asked = node;
    return true;
}

/* Looks for what still breaks: elements that are chosen first, then branches that ask how many there are.  Facts go as far as the statement it is in. */
static bool find(step *s, TSNode statement, bool branches) {
    for (TSNode at = ts_node_next_named_sibling(statement); !ts_node_is_null(at); at = ts_node_next_named_sibling(at)) {
        if (gg_node_is(at, "comment")) continue;
        s->asked = (TSNode){0};
        bool done = gg__visit(at, is_done, s);
        TSNode found = done ? s->asked : s->chosen;
        if (!done || (branches && !ts_node_is_null(s->asked))) {
            if (!ts_node_eq(gg__statement(found), at)) gg__visit(at, gg__scalar_forget_bound, s->then);
            return true;
        }
        if (!gg__scalar_pass(s->then, at)) return false;
    }
    s->chosen = s->asked = (TSNode){0};
    return true;
}

/* Mends the next; `*over`: there was none. */
static bool mend_next(const indices *x, gg_text **text, bool branches, gg_safety most, bool *copies, bool *over) {
    static const char *const of_masks[] = {"GG040", "GG041", "GG042", "GG110"};
    static const char *const of_branches[] = {"GG002", "GG010", "GG011", "GG013", "GG043", "GG045"};
    gg_tree *tree = NULL;
    gg_error err = {0};
    if (gg_tree_parse(&tree, *text, NULL, NULL, 0, NULL, &err) != 0) return false;
    gg_span at = {ts_node_start_byte(x->statement), ts_node_start_byte(x->statement) + (uint32_t)x->name.len};
    gg_rule_input there = {.tree = tree, .site = x->in->site, .span = at};
    step s = {.x = x, .tree = tree, .then = GG_ARENA_NEW(x->arena, gg__scalar_uses)};
    bool done = gg__scalar_uses_init(s.then, &there, GG_STR("torch.bool"), GG__AS_IS);
    s.then->arena = x->arena;
    gg__meta mask = x->of;
    mask.dtype = GG_STR("torch.bool");
    mask.vague = GG__CERTAIN;
    gg__scalar_learn(s.then, x->name, mask);
    done = done && find(&s, gg__statement(gg_node_at(tree, at)), branches);
    bool chosen = !ts_node_is_null(s.chosen);
    *over = done && !chosen && ts_node_is_null(s.asked);
    if (done && !*over) {
        s.then->site.id = chosen ? GG_STR("GB0036") : GG_STR("GB0170");
        there = s.then->in;
        there.span = gg_node_span(chosen ? s.chosen : s.asked);
        done = chosen ? gg__apply_one_of(&there, of_masks, GG_COUNT(of_masks), most, x->arena, text, copies)
                      : gg__apply_one_of(&there, of_branches, GG_COUNT(of_branches), most, x->arena, text, copies);
    }
    gg_tree_unref(&tree);
    return done;
}

bool gg__take_indices(const gg_rule_input *in, gg_safety most, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    gg_arena *own = gg_arena_new();
    indices *x = GG_ARENA_NEW(own, indices);
    gg_text *text = NULL;
    gg_error err = {0};
    bool copies = false, over = false;
    *x = (indices){.in = in, .arena = own};
    bool done = begin(x) && gg_edits_sort(&x->first, &err) == 0 &&
                gg_edits_apply(&text, gg_tree_text(in->tree), &x->first, &err) == 0;
    *out_node = x->statement;
    for (int branches = 0; done && branches < 2; branches++) {
        over = false;
        for (int i = 0; done && !over && i < MAX_STEPS; i++) done = mend_next(x, &text, branches, most, &copies, &over);
        done = done && over;
    }
    if (done && edits) {
        edits->copies = edits->copies || copies;
        gg__add_difference(gg_tree_text(in->tree), gg_text_bytes(text), arena, edits);
    }
    gg_text_unref(&text);
    gg_edits_clear(&x->first);
    gg_arena_free(own);
    return done;
}
