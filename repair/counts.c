/* How large a tensor is that holds what a mask or nonzero() chooses: `len(torch.nonzero(c))`, `x[m].numel()`.  See masks.h. */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

static bool count_of(const gg_rule_input *in, TSNode node, gg__sized *out) {
    out->counted = node;
    if (ts_node_is_null(node)) return false;
    out->of = gg__infer(in, node);
    return out->of.sort == GG__TENSOR && out->of.rank >= 1;
}

/* Is it a tensor with as many rows as c has elements that are not zero?  `columns`: how many it has, 0 where it has rows alone, -1 where that is
 * not known. */
static bool rows_of(const gg_rule_input *in, TSNode node, gg__sized *out, int32_t *columns) {
    gg__item item;
    gg__masked e = {.in = in, .names = true, .rounded = true};
    TSNode named;
    node = gg__strip_parentheses(node);
    *columns = 0;
    if (gg__is_name_of_items(&e, node, &named) && gg__is_elementwise(&e, named)) {
        *columns = e.item.of.rank == e.item.by.rank ? 0 : -1;
        return count_of(in, e.item.mask, out);
    }
    if (gg__masked_item(in, node, &item)) {
        *columns = item.of.rank == item.by.rank ? 0 : -1;
        return gg__infer(in, item.base).sort == GG__TENSOR && count_of(in, item.mask, out);
    }
    if (gg_node_is(node, "subscript") && gg__child_count(node) == 2) { /* one of a tuple's */
        gg__meta i = gg__infer(in, gg__field(node, "subscript"));
        return count_of(in, gg__nonzero_tuple_of(in, gg__field(node, "value")), out) && i.constant && i.value >= 0 &&
               i.value < out->of.rank;
    }
    TSNode c = gg__nonzero_rows_of(in, node), inner;
    if (!ts_node_is_null(c)) {
        if (!count_of(in, c, out)) return false;
        *columns = out->of.rank;
        return true;
    }
    c = gg__call_operand(in, node, "unique", 0, true);
    bool consecutive = ts_node_is_null(c);
    if (consecutive) c = gg__call_operand(in, node, "unique_consecutive", 0, true);
    if (!ts_node_is_null(c)) {
        out->unique = true;
        out->consecutive = consecutive;
        return count_of(in, c, out) && (gg__is_integer(out->of.dtype) || gg__is_bool(out->of.dtype));
    }
    if (!gg__is_flattening(in, node, &inner) || !rows_of(in, inner, out, columns) || *columns != 1) return false;
    *columns = 0;
    return true;
}

TSNode gg__size_asked(const gg_tree *tree, TSNode node, bool *elements) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"), none = {0};
    uint32_t count = gg__child_count(arguments);
    *elements = false;
    if (gg_node_is(node, "subscript")) {
        TSNode shape = gg__field(node, "value");
        bool first = gg_node_is(shape, "attribute") && gg__child_count(node) == 2 &&
                     gg_str_is(gg__text(tree, gg__field(shape, "attribute")), "shape") &&
                     gg_str_is(gg__text(tree, gg__field(node, "subscript")), "0");
        return first ? gg__field(shape, "object") : none;
    }
    if (!gg_node_is(node, "call")) return none;
    if (gg_node_is(function, "identifier"))
        return gg__names_builtin(tree, function, "len") && count == 1 ? gg__child(arguments, 0) : none;
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    bool rows = gg_str_is(name, "size") && count == 1 && gg_str_is(gg__text(tree, gg__child(arguments, 0)), "0");
    *elements = (gg_str_is(name, "numel") || gg_str_is(name, "nelement")) && count == 0;
    return rows || *elements ? gg__field(function, "object") : none;
}

bool gg__is_size(const gg_rule_input *in, TSNode node, gg__sized *out) {
    int32_t columns;
    bool elements;
    *out = (gg__sized){.asked = node};
    TSNode x = gg__size_asked(in->tree, node, &elements);
    if (ts_node_is_null(x) || !rows_of(in, x, out, &columns) || (elements && columns < 0)) return false;
    if (elements) out->columns = columns;
    return true;
}

gg_str gg__size_text(const gg_rule_input *in, const gg__sized *s, gg_str torch, gg_arena *arena) {
    gg_str x = gg__text(in->tree, gg__strip_parentheses(s->counted));
    gg_str text = gg_arena_printf(arena, "%.*s.count_nonzero(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(x));
    if (s->unique) { /* sorted, equal ones lie side by side; of nothing there is none */
        gg_str operand = gg__operand_text(in, s->counted, arena);
        gg_str list = gg_arena_printf(arena, "%.*s.flatten()", GG_STR_ARG(operand));
        if (!s->consecutive)
            list = gg_arena_printf(arena, "%.*s.sort(%.*s).values", GG_STR_ARG(torch), GG_STR_ARG(list));
        text = gg_arena_printf(arena, "(%.*s.diff().count_nonzero() + min(%.*s.numel(), 1))", GG_STR_ARG(list),
                               GG_STR_ARG(operand));
    }
    return s->columns > 1 ? gg_arena_printf(arena, "(%.*s * %d)", GG_STR_ARG(text), (int)s->columns) : text;
}

static bool counts_as_integer(TSNode asked) {
    TSNode around = gg__parent(asked);
    if (gg_node_is(around, "not_operator") || ts_node_eq(gg__field(around, "condition"), asked)) return true;
    if (!gg_node_is(around, "comparison_operator") || gg__child_count(around) != 2) return false;
    return gg_node_is(gg__child(around, ts_node_eq(gg__child(around, 0), asked) ? 1 : 0), "integer");
}

gg_str gg__size_text_asked(const gg_rule_input *in, const gg__sized *s, gg_str torch, gg_arena *arena) {
    gg_str text = gg__size_text(in, s, torch, arena);
    return counts_as_integer(s->asked) ? text : gg_arena_printf(arena, "%.*s.double()", GG_STR_ARG(text));
}

bool gg__take_size(const gg_rule_input *in, const gg__sized *s, bool *to_double, gg_arena *arena, gg_edits *edits) {
    gg__scalar scalar = {.sort = GG__SCALAR_INT, .magnitude = GG__MOST_ELEMENTS, .natural = true};
    if (s->columns > 1) scalar.magnitude *= s->columns;
    gg__replacement r = {.node = s->asked, .scalar = scalar, .dtype = GG_STR("torch.int64")};
    bool taken = gg__scalar_replace(in, &r, arena, edits);
    if (to_double) *to_double = r.widening == GG__TO_DOUBLE;
    return taken;
}

void gg__edit_size(const gg_rule_input *in, const gg__sized *s, gg_arena *arena, gg_edits *edits) {
    bool to_double = false;
    if (!gg__take_size(in, s, &to_double, arena, edits)) return;
    gg_str torch = gg__require_module(in->tree, s->asked, "torch", arena, edits);
    gg_str text = gg__size_text(in, s, torch, arena);
    gg_edits_add(edits, gg_node_span(s->asked),
                 gg_arena_printf(arena, "%.*s%s", GG_STR_ARG(text), to_double ? ".double()" : ""));
}
