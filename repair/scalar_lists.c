/* Numbers taken out of tensors: `torch.tensor([s, 1.0, t.item()])`.  See scalar.h.
 *
 * Its elements become tensors, each in the precision that the list would have given it, and are stacked. */
#include "repair/scalar.h"

#include <string.h>

typedef struct display { /* of a list, that torch.tensor gets */
    TSNode call, arguments, list;
    gg_str torch, dtype; /* dtype: as the call says it; empty when it does not */
    gg__sort sort;       /* of its numbers together */
} display;

static bool has_taken(TSNode node, void *data) {
    const gg__scalar_uses *u = data;
    if (ts_node_eq(node, u->taken)) return false;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    for (size_t i = 0; i < u->tracked_count; i++)
        if (gg_str_equal(u->tracked[i].name, gg__text(u->in.tree, node))) return false;
    return true;
}

static bool find(const gg__scalar_uses *u, TSNode element, display *out) {
    const gg_tree *tree = u->in.tree;
    *out = (display){.list = gg__parent(element)};
    out->arguments = gg__parent(out->list);
    out->call = gg__parent(out->arguments);
    TSNode function = gg__field(out->call, "function");
    if ((!gg_node_is(out->list, "list") && !gg_node_is(out->list, "tuple")) ||
        !gg_node_is(out->arguments, "argument_list") || !gg_node_is(function, "attribute") ||
        !ts_node_eq(gg__child(out->arguments, 0), out->list))
        return false;
    out->torch = gg__module_alias(tree, out->call, "torch");
    if (!gg_str_equal(gg__text(tree, gg__field(function, "object")), out->torch) ||
        !gg_str_is(gg__text(tree, gg__field(function, "attribute")), "tensor") ||
        gg__has_comment(tree, gg_node_span(out->call)) || !gg__scalar_told(u, out->call, out->torch, &out->dtype))
        return false;
    for (uint32_t i = 0; i < gg__child_count(out->list); i++) {
        gg__sort sort = gg__scalar_operand(u, gg__child(out->list, i)).sort;
        if (ts_node_eq(gg__child(out->list, i), element)) continue;
        if (sort == GG__UNKNOWN || sort == GG__TENSOR) return false;
        if (sort == GG__SCALAR_FLOAT || (sort == GG__SCALAR_INT && out->sort == GG__SCALAR_BOOL) || !out->sort)
            out->sort = sort;
    }
    return true;
}

/* What the list makes of an element beside the number, as a tensor; empty when it is to be left. */
static gg_str rewritten(gg__scalar_uses *u, const display *d, TSNode element) {
    gg__extraction e;
    gg__widening widening = GG__AS_IS;
    if (!gg__visit(element, has_taken, u)) return GG_STR_NULL;
    if (gg__match_extraction(&u->in, gg__strip_parentheses(element), &e)) {
        if (d->sort == GG__SCALAR_FLOAT && e.scalar.sort != GG__SCALAR_FLOAT) widening = GG__TO_DOUBLE;
        if (d->sort == GG__SCALAR_INT && e.scalar.sort == GG__SCALAR_BOOL) widening = GG__TO_LONG;
        if (e.widening > widening) widening = e.widening;
        return gg__tensor_text(&u->in, &e, widening, true, u->arena);
    }
    gg_str text = gg__text(u->in.tree, element), comma = d->dtype.len ? GG_STR(", dtype=") : GG_STR_NULL;
    return gg_arena_printf(u->arena, "%.*s.tensor(%.*s%.*s%.*s)", GG_STR_ARG(d->torch), GG_STR_ARG(text),
                           GG_STR_ARG(comma), GG_STR_ARG(d->dtype));
}

/* Once for the call, however many of its elements are tracked. */
static void rewrite(gg__scalar_uses *u, const display *d) {
    gg_span call = gg_node_span(d->call);
    for (size_t i = 0; i < u->edits->list.len; i++)
        if (u->edits->list.items[i].span.end == call.end) return;
    TSNode name = gg__field(gg__field(d->call, "function"), "attribute");
    gg_edits_add(u->edits, gg_node_span(name), GG_STR("stack"));
    for (uint32_t i = 0; i < gg__child_count(d->list); i++) {
        TSNode element = gg__child(d->list, i);
        gg_str text = rewritten(u, d, element);
        if (text.len) gg_edits_add(u->edits, gg_node_span(element), text);
    }
    gg_str dtype = d->dtype;
    if (!dtype.len && d->sort == GG__SCALAR_FLOAT)
        dtype = gg_arena_printf(u->arena, "%.*s.get_default_dtype()", GG_STR_ARG(d->torch));
    if (!dtype.len && d->sort == GG__SCALAR_INT) dtype = gg_arena_printf(u->arena, "%.*s.int64", GG_STR_ARG(d->torch));
    gg_span behind = {ts_node_end_byte(d->list), call.end};
    gg_edits_add(u->edits, behind,
                 dtype.len ? gg_arena_printf(u->arena, ").to(%.*s)", GG_STR_ARG(dtype)) : GG_STR(")"));
}

bool gg__scalar_in_list(gg__scalar_uses *u, TSNode element, gg__scalar s) {
    display d;
    if (!gg_node_is(gg__parent(element), "list") && !gg_node_is(gg__parent(element), "tuple")) return false;
    if (!u->on_cpu || !find(u, element, &d)) return false;
    if (!d.sort || s.sort == GG__SCALAR_FLOAT || (s.sort == GG__SCALAR_INT && d.sort == GG__SCALAR_BOOL))
        d.sort = s.sort;
    gg_str name =
        d.dtype.len ? gg_str_slice(d.dtype, d.torch.len + 1, d.dtype.len) : GG_STR_NULL; /* without `torch.` */
    bool floats = gg_str_is(name, "float32") || gg_str_is(name, "float64") || gg_str_is(name, "float");
    bool longs = gg_str_is(name, "int64") || gg_str_is(name, "long");
    if (name.len && !(floats || (longs && d.sort != GG__SCALAR_FLOAT))) return false;
    if (floats) d.sort = GG__SCALAR_FLOAT;
    if (longs) d.sort = GG__SCALAR_INT;
    if (s.sort != d.sort) gg__scalar_want(u, d.sort == GG__SCALAR_FLOAT ? GG__TO_DOUBLE : GG__TO_LONG);
    if (s.sort != GG__SCALAR_FLOAT && s.counted && d.sort == GG__SCALAR_FLOAT && s.magnitude > 0x1p53) return false;
    if (u->settled && u->widening == GG__TO_DOUBLE && d.sort != GG__SCALAR_FLOAT) return false;
    if (u->settled && u->widening == GG__TO_LONG && d.sort == GG__SCALAR_BOOL) return false;
    u->count++;
    u->at_once = u->at_once || ts_node_eq(element, u->taken);
    u->rewrites = true;
    if (u->edits) rewrite(u, &d);
    return true;
}
