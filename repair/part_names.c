/* Numbers taken out of tensors that only bound what is stored into.  See parts.h. */
#include "repair/infer.h"
#include "repair/parts.h"

/* `n = E.item()`, `n = int(E)`, `for n in E.tolist():`, `for i, n in enumerate(E.tolist()):` */
static bool find(const gg_rule_input *in, gg__named_part *out) {
    const gg_tree *tree = in->tree;
    TSNode call = gg_node_ancestor(gg_node_at(tree, in->span), "call"), parent = gg__parent(call);
    TSNode function = gg__field(call, "function");
    gg__extraction e;
    *out = (gg__named_part){.call = call, .statement = gg__statement(call)};
    if (gg__match_extraction_loosely(in, call, &e)) {
        out->value = e.value;
        if (e.scalar.sort != GG__SCALAR_INT || e.widening || e.truncates || !gg_node_is(parent, "assignment") ||
            !ts_node_eq(gg__field(parent, "right"), call) || !ts_node_is_null(gg__field(parent, "type")) ||
            !gg_node_is(gg__parent(parent), "expression_statement"))
            return false;
        out->name = gg__field(parent, "left");
        out->bound.meta = e.meta;
        out->cuts = e.cuts;
    } else {
        if (!gg_str_is(gg__text(tree, gg__field(function, "attribute")), "tolist") ||
            gg__child_count(gg__field(call, "arguments")))
            return false;
        out->lists = true;
        out->value = gg__field(function, "object");
        out->bound.meta = gg__infer_loosely(in, out->value);
        TSNode outer = gg__parent(parent), target = gg__field(parent, "left");
        if (gg_node_is(parent, "argument_list") && gg__child_count(parent) == 1 &&
            gg__names_builtin(tree, gg__field(outer, "function"), "enumerate")) {
            TSNode pair = gg__field(gg__parent(outer), "left");
            if (!gg_node_is(pair, "pattern_list") || gg__child_count(pair) != 2) return false;
            target = gg__child(pair, 1);
            parent = gg__parent(outer);
        }
        bool loop = gg_node_is(parent, "for_statement") && ts_node_eq(out->statement, parent);
        if ((!loop && !gg_node_is(parent, "for_in_clause")) || out->bound.meta.rank != 1 ||
            gg_str_starts_with(gg__text(tree, parent), GG_STR("async")))
            return false;
        out->name = target;
        out->bound.meta.rank = 0;
    }
    gg__meta m = out->bound.meta;
    bool wide = gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32");
    out->bound.named = gg__text(tree, out->name);
    out->bound.wide = out->cuts || (gg_str_is(m.dtype, "torch.int64") && gg__has_certain_dtype(in, out->value));
    return gg_node_is(out->name, "identifier") && m.sort == GG__TENSOR && m.rank == 0 && !m.vague && wide;
}

typedef struct uses {
    const gg_rule_input *in;
    gg__named_part *named;
    TSNode function;
    bool sums, exact; /* reductions are looked for, not stores */
} uses;

static gg__part_store *store_at(const uses *u, TSNode statement) {
    gg__named_part *n = u->named;
    for (uint32_t i = 0; i < n->count; i++)
        if (ts_node_eq(n->stores[i].assignment, gg__child(statement, 0))) return &n->stores[i];
    if (n->count == GG__MAX_STORES) return NULL;
    gg__part_store *s = &n->stores[n->count];
    if (!gg__read_part_store(u->in, statement, &n->bound, s)) return NULL;
    n->count++;
    return s;
}

/* A reduction of what the name bounds. */
static bool is_summed(const uses *u, TSNode subscript) {
    gg__named_part *n = u->named;
    if (n->sum_count == GG__MAX_SUMS) return false;
    gg__part *s = &n->sums[n->sum_count];
    *s = (gg__part){.bound = n->bound};
    if (!gg__read_part_reduction(u->in, subscript, u->exact, s) || !gg_node_is(s->x, "identifier") ||
        !gg__stays_from(u->in->tree, u->function, gg__text(u->in->tree, s->x), ts_node_start_byte(n->statement)))
        return false;
    n->sum_count++;
    return true;
}

/* Another binding of the name, or a use that is no bound of a store. */
static bool is_bound_of_a_store(TSNode node, void *data) {
    const uses *u = data;
    static const char *const all[] = {"locals", "vars", "eval", "exec", "dir"};
    const gg_tree *tree = u->in->tree;
    if (!gg_node_is(node, "identifier") || ts_node_eq(node, u->named->name) || gg__is_member_name(node)) return true;
    gg_str text = gg__text(tree, node);
    if (gg__is_one_of(text, all, GG_COUNT(all))) return false;
    if (!gg_str_equal(text, u->named->bound.named)) return true;
    TSNode slice = gg__parent(node), subscript = gg__parent(slice), statement = gg__statement(node);
    if (gg__is_binding(node) || !gg_node_is(slice, "slice") || !ts_node_eq(gg__function(node), u->function))
        return false;
    if (u->sums) return is_summed(u, subscript);
    const gg__part_store *s = store_at(u, statement);
    if (s == NULL || !gg_node_is(s->x, "identifier")) return false;
    bool stays = gg__stays_from(tree, u->function, gg__text(tree, s->x),
                                ts_node_start_byte(u->named->statement)); /* the facts are of what it holds now */
    return stays && (ts_node_eq(subscript, s->subscript) || (s->copies && ts_node_eq(subscript, s->value)));
}

static bool read_named(const gg_rule_input *in, bool sums, bool exact, gg__named_part *out) {
    static const char *const ids[] = {"GB0124", "GB0033"};
    if (!gg__has_id(in, ids, GG_COUNT(ids)) || in->site->first == NULL || !find(in, out)) return false;
    uses u = {in, out, gg__function(out->call), sums, exact};
    if (!out->lists) out->bound.natural = gg__scalar_of(in, out->bound.meta, out->value).natural;
    return gg_node_is(u.function, "function_definition") && !gg__has_comment(in->tree, gg_node_span(out->call)) &&
           gg__visit(u.function, is_bound_of_a_store, &u);
}

bool gg__part_named(const gg_rule_input *in, gg__named_part *out) {
    return read_named(in, false, false, out) && out->count > 0;
}

void gg__edit_named_part(const gg_rule_input *in, const gg__named_part *named, gg_arena *arena, gg_edits *edits) {
    TSNode value = gg__strip_parentheses(named->value);
    gg_str text = gg__text(in->tree, value);
    bool simple = gg_node_is(value, "identifier") || gg_node_is(value, "subscript") || gg_node_is(value, "attribute") ||
                  gg_node_is(value, "call");
    /* what is changed in place later is not what the number was */
    bool held = !gg__infer_loosely(in, value).fresh && gg__alias_shows(in, named->statement, value, named->bound.named);
    if (!simple && (held || named->lists || named->cuts)) text = gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(text));
    gg_edits_add(edits, gg_node_span(named->call),
                 gg_arena_printf(arena, "%.*s%s%s%s", GG_STR_ARG(text), named->cuts ? ".long()" : "",
                                 held ? ".clone()" : "", named->lists ? ".unbind()" : ""));
    for (uint32_t i = 0; i < named->count; i++) gg__edit_part_store(in, &named->stores[i], arena, edits);
    for (uint32_t i = 0; i < named->sum_count; i++) {
        gg__part sum = named->sums[i];
        sum.alone = named->sum_count == 1;
        gg__edit_part(in, &sum, arena, edits);
    }
}

bool gg__take_part(const gg_rule_input *in, bool exact, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    gg__part part;
    gg__named_part named;
    if (gg__part_reduction(in, exact, &part)) {
        *out_node = part.subscript;
        if (edits) gg__edit_part(in, &part, arena, edits);
        return true;
    }
    if (!read_named(in, true, exact, &named) || named.sum_count == 0) return false;
    *out_node = named.call;
    if (edits) gg__edit_named_part(in, &named, arena, edits);
    return true;
}
