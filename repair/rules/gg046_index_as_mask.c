/* GG046 index-as-mask: `i = torch.where(c)[0]` has as many elements as c has true ones, which is known at run time only.
 * Offers: the mask in place of the index, where rows are only stored under it: `x[i] += y[i]`.  Refuses: any other use of the index, and unless each row
 * is proven to be treated alike.  Safety: exact.  Page: docs/rules/GG046.md
 *
 * DESIGN  The name keeps what was true when it was bound, so the mask is bound to it, and the stores are rewritten as under any mask (GG040).  Where the
 * mask may be changed in place before the last of them, a copy of it.  A row that is chosen twice is stored twice, with the same values. */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

enum { MAX_USES = 16 };

typedef struct rows_index {
    gg__scalar_uses then; /* for its facts, which follow the statements; one is of the name: the mask */
    TSNode statement, assignment, condition;
    gg__meta of; /* the condition */
    bool truth;  /* … which is of bools in every call */
    gg_str name;
    TSNode uses[MAX_USES]; /* statements behind it in its block */
    size_t use_count;
    bool plain; /* no use is anything else */
} rows_index;

/* The name that gets the first index, and what is asked for its true elements. */
static bool match_binding(const gg_rule_input *in, rows_index *x) {
    x->statement = gg__statement(gg_node_at(in->tree, in->span));
    x->assignment = gg__child(x->statement, 0);
    TSNode left = gg__field(x->assignment, "left"), right = gg__strip_parentheses(gg__field(x->assignment, "right"));
    if (!gg_node_is(x->statement, "expression_statement") || !gg_node_is(x->assignment, "assignment") ||
        !ts_node_is_null(gg__field(x->assignment, "type")))
        return false;
    TSNode which;
    x->condition = gg__chosen_by(in, x->assignment, &which);
    uint32_t names = gg__child_count(left);
    bool pattern = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    bool column = !pattern && gg_node_is(right, "call");
    if (pattern) left = gg__child(left, 0);
    if (ts_node_is_null(x->condition) || !gg_node_is(left, "identifier") ||
        (!ts_node_is_null(which) && !gg_str_is(gg__text(in->tree, which), "0")))
        return false;
    x->of = gg__infer_loosely(in, x->condition); /* evaluated where it was */
    x->truth = gg__is_bool(x->of.dtype) && gg__has_certain_dtype(in, x->condition);
    x->name = gg__text(in->tree, left);
    /* a single row would be stored everywhere where there are more of the other */
    return x->of.sort == GG__TENSOR && x->of.rank > 0 && x->of.shape[0] > 1 && (!column || x->of.rank == 1) &&
           (!pattern || names == (uint32_t)x->of.rank);
}

/* From here on the name is a mask. */
static bool learn(const gg_rule_input *in, rows_index *x, gg_arena *arena) {
    if (in->site->first == NULL || !gg__scalar_uses_init(&x->then, in, GG_STR("torch.bool"), GG__AS_IS)) return false;
    x->then.arena = arena;
    gg__scalar_learn(&x->then, x->name,
                     (gg__meta){.sort = GG__TENSOR,
                                .dtype = GG_STR("torch.bool"),
                                .device = x->of.device,
                                .rank = 1,
                                .shape = {x->of.shape[0]}});
    return true;
}

static bool is_index(TSNode name) {
    TSNode parent = gg__parent(name);
    return gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "subscript"), name);
}

/* Each use is the only index of a row, in a statement behind the binding, of the same block. */
static bool collect_use(TSNode node, void *data) {
    rows_index *x = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(x->then.in.tree, node), x->name)) return true;
    TSNode statement = gg__statement(node);
    if (ts_node_eq(statement, x->statement) &&
        ts_node_start_byte(node) < ts_node_end_byte(gg__field(x->assignment, "left")))
        return true;
    if (gg__is_member_name(node)) return true;
    x->plain = ts_node_eq(gg__parent(statement), gg__parent(x->statement)) &&
               ts_node_start_byte(statement) > ts_node_start_byte(x->statement) && is_index(node);
    bool again = x->use_count && ts_node_eq(x->uses[x->use_count - 1], statement);
    if (!again && x->plain && x->use_count == MAX_USES) x->plain = false;
    if (!again && x->plain) x->uses[x->use_count++] = statement;
    return x->plain;
}

/* Is it what one of the stores changes, and no mask?  Or behind the last of them? */
static bool is_no_mask(TSNode changed, void *data) {
    const rows_index *x = data;
    TSNode last = x->uses[x->use_count - 1];
    while (gg_node_is(changed, "subscript")) changed = gg__field(changed, "value");
    bool inner = gg__is_in_inner_function(changed, gg__function(x->statement));
    if (!inner && ts_node_start_byte(changed) >= ts_node_end_byte(last)) return true;
    for (size_t i = 0; i < x->use_count; i++) {
        gg__meta m = gg__infer(&x->then.in, changed);
        bool stored = gg__covers(x->uses[i], gg_node_span(changed));
        if (stored && m.sort == GG__TENSOR && !gg__is_bool(m.dtype)) return true;
    }
    return false;
}

/* May the tensor of the condition be changed while the name still stands for what it was? */
static bool may_change(const rows_index *x) {
    if (!x->truth || x->of.rank > 1 || x->of.fresh) return false;
    TSNode function = gg__function(x->statement);
    return !gg__each_change(&x->then.in, function, ts_node_end_byte(x->statement), is_no_mask, (void *)x);
}

/* Is a second index of the pattern read? */
static bool others_are_read(const rows_index *x, TSNode function) {
    TSNode left = gg__field(x->assignment, "left");
    if (gg_node_is(left, "identifier")) return false;
    for (uint32_t i = 1; i < gg__child_count(left); i++) {
        TSNode other = gg__child(left, i);
        gg_str text = gg__text(x->then.in.tree, other);
        if (!gg_node_is(other, "identifier")) return true;
        for (TSNode at = ts_node_next_named_sibling(x->statement); !ts_node_is_null(at);
             at = ts_node_next_named_sibling(at))
            if (gg__reads(x->then.in.tree, at, text) && !gg__binds(x->then.in.tree, at, text)) return true;
        bool ignored = gg_str_is(text, "_") || gg_str_is(text, "__");
        if (!ignored && !ts_node_eq(gg__field(function, "body"), gg__parent(x->statement)))
            return true; /* read elsewhere? */
    }
    return false;
}

/* The statements with a use, each with the facts that hold there.  With `out`, writes the stores; else tells whether they are some. */
static bool walk(rows_index *x, gg_str torch, gg_arena *arena, gg_edits *out) {
    size_t next = 0;
    for (TSNode at = ts_node_next_named_sibling(x->statement); next < x->use_count;
         at = ts_node_next_named_sibling(at)) {
        gg__store s;
        if (gg_node_is(at, "comment")) continue;
        if (ts_node_eq(at, x->uses[next])) {
            bool store = gg__masked_store(&x->then.in, at, true, &s);
            if (!store && !gg__is_masked_fill(&x->then.in, gg__child(at, 0))) return false;
            if (store && out) gg__edit_masked_store(&s, torch, arena, out);
            next++;
        }
        if (!gg__scalar_pass(&x->then, at)) return false;
    }
    return true;
}

static bool match(const gg_rule_input *in, rows_index *x, gg_arena *arena) {
    *x = (rows_index){.plain = true};
    if (!gg_str_is(in->site->id, "GB0036") || !match_binding(in, x) || !learn(in, x, arena) ||
        gg__has_comment(in->tree, gg_node_span(x->statement)))
        return false;
    TSNode function = gg__function(x->statement);
    return gg_node_is(function, "function_definition") && gg__visit(function, collect_use, x) && x->use_count &&
           !others_are_read(x, function) && gg__can_name(in->tree, x->statement, "torch");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_arena *arena = gg_arena_new();
    rows_index *x = GG_ARENA_NEW(arena, rows_index);
    bool matches = match(in, x, arena) && walk(x, GG_STR("torch"), arena, NULL);
    out->node = x->statement;
    gg_arena_free(arena);
    return matches;
}

static int edit(const gg_rule_input *in, const gg_rule_match *m, gg_arena *arena, gg_edits *out, gg_error *err) {
    rows_index *x = GG_ARENA_NEW(arena, rows_index);
    if (!match(in, x, arena)) return gg_fail(err, GG_ENOMATCH, "the index is not only used to store rows");
    gg_str torch = gg__require_module(in->tree, m->node, "torch", arena, out);
    TSNode c = gg__strip_parentheses(x->condition);
    gg_str mask = gg__text(in->tree, c);
    if (!x->truth)
        mask = gg_arena_printf(arena, "%s%.*s != 0%s", x->of.rank > 1 ? "(" : "",
                               GG_STR_ARG(gg__operand_text(in, c, arena)), x->of.rank > 1 ? ")" : "");
    else if (x->of.rank > 1)
        mask = gg__operand_text(in, c, arena);
    if (may_change(x)) mask = gg_arena_printf(arena, "%.*s.clone()", GG_STR_ARG(gg__operand_text(in, c, arena)));
    if (x->of.rank > 1) /* rows with a true element */
        mask = gg_arena_printf(arena, "%.*s%s.any(1)", GG_STR_ARG(mask), x->of.rank > 2 ? ".flatten(1)" : "");
    gg_edits_add(out, gg_node_span(x->assignment),
                 gg_arena_printf(arena, "%.*s = %.*s", GG_STR_ARG(x->name), GG_STR_ARG(mask)));
    return walk(x, torch, arena, out) ? 0 : gg_fail(err, GG_ENOMATCH, "the index is not only used to store rows");
}

const gg_rule gg_rule_index_as_mask = {
    .code = "GG046",
    .name = "index-as-mask",
    .title = "Store under the mask, not under its indices",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
