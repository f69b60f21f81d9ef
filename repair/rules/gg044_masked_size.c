/* GG044 masked-size: a tensor made only to ask how large it is: `len(torch.nonzero(c))`, `x[m].numel()`, `torch.unique(k).numel()`.
 * Offers: the count itself as a 0-d tensor, where a tensor gets it.  Refuses: any other use of the number, unique() of floating numbers, and what is
 * not proven pure.  Safety: exact.  Page: docs/rules/GG044.md */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

typedef struct sized {
    TSNode asked;   /* `len(torch.nonzero(c))` */
    TSNode counted; /* c, or k of a unique */
    gg__meta of;    /* … */
    bool unique;
} sized;

static bool count_of(const gg_rule_input *in, TSNode node, sized *out) {
    out->counted = node;
    if (ts_node_is_null(node)) return false;
    out->of = gg__infer(in, node);
    return out->of.sort == GG__TENSOR && out->of.rank >= 1;
}

/* Is it a tensor with as many rows as c has elements that are not zero?  `columns`: how many it has, 0 where it has rows alone. */
static bool rows_of(const gg_rule_input *in, TSNode node, sized *out, int32_t *columns) {
    gg__item item;
    node = gg__strip_parentheses(node);
    *columns = 0;
    if (gg__masked_item(in, node, &item)) {
        *columns = item.of.rank == item.by.rank ? 0 : 2; /* of a number not known here */
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
    if (!ts_node_is_null(c)) {
        out->unique = true;
        return count_of(in, c, out) && (gg__is_integer(out->of.dtype) || gg__is_bool(out->of.dtype));
    }
    if (!gg__is_flattening(in, node, &inner) || !rows_of(in, inner, out, columns) || *columns != 1) return false;
    *columns = 0;
    return true;
}

/* `E.shape[0]`, `E.size(0)`, `len(E)`: how many rows.  `E.numel()`: where a row is one element. */
static bool is_size(const gg_rule_input *in, TSNode node, sized *out) {
    int32_t columns;
    *out = (sized){.asked = node};
    if (gg_node_is(node, "subscript")) {
        TSNode shape = gg__field(node, "value");
        return gg_node_is(shape, "attribute") &&
               gg_str_is(gg__text(in->tree, gg__field(shape, "attribute")), "shape") && gg__child_count(node) == 2 &&
               gg_str_is(gg__text(in->tree, gg__field(node, "subscript")), "0") &&
               rows_of(in, gg__field(shape, "object"), out, &columns);
    }
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    uint32_t count = gg__child_count(arguments);
    if (!gg_node_is(node, "call")) return false;
    if (gg_node_is(function, "identifier"))
        return gg_str_is(gg__text(in->tree, function), "len") && count == 1 &&
               !gg__is_local(in->tree, node, GG_STR("len")) && !gg__is_bound_in_module(in->tree, GG_STR("len")) &&
               rows_of(in, gg__child(arguments, 0), out, &columns);
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    TSNode object = gg__field(function, "object");
    if (gg_str_is(name, "size"))
        return count == 1 && gg_str_is(gg__text(in->tree, gg__child(arguments, 0)), "0") &&
               rows_of(in, object, out, &columns);
    bool elements = gg_str_is(name, "numel") || gg_str_is(name, "nelement");
    return elements && count == 0 && rows_of(in, object, out, &columns) && columns <= 1;
}

/* All uses of the number, first asked, then settled (scalar.c says how). */
static bool take(const gg_rule_input *in, const sized *s, gg__widening *widening, gg_arena *arena, gg_edits *edits) {
    gg__scalar scalar = {.sort = GG__SCALAR_INT, .magnitude = GG__MOST_ELEMENTS, .natural = true};
    *widening = GG__AS_IS;
    for (int round = 0; round < 2; round++) {
        gg__scalar_uses uses;
        if (!gg__scalar_uses_init(&uses, in, GG_STR("torch.int64"), *widening)) return false;
        uses.settled = round > 0;
        uses.arena = arena;
        uses.taken = s->asked;
        uses.edits = round > 0 ? edits : NULL;
        if (!gg__scalar_use(&uses, s->asked, scalar) ||
            (uses.tracked_count && !gg__scalar_follow(&uses, gg__statement(s->asked))) || uses.count == 0)
            return false;
        *widening = uses.widening;
    }
    return true;
}

static bool find(const gg_rule_input *in, sized *out) {
    if (!gg_str_is(in->site->id, "GB0036") || in->site->first == NULL) return false;
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at))
        if (is_size(in, at, out))
            return gg__can_name(in->tree, at, "torch") && !gg__has_comment(in->tree, gg_node_span(at));
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    sized s;
    gg__widening widening;
    if (!find(in, &s)) return false;
    out->node = s.asked;
    gg_arena *arena = gg_arena_new(); /* the texts of edits that nobody asked for */
    bool taken = take(in, &s, &widening, arena, NULL);
    gg_arena_free(arena);
    return taken;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    sized s;
    gg__widening widening;
    (void)match;
    if (!find(in, &s) || !take(in, &s, &widening, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the size is not proven to be what a tensor can count");
    gg_str torch = gg__require_module(in->tree, s.asked, "torch", arena, out);
    gg_str x = gg__text(in->tree, gg__strip_parentheses(s.counted));
    gg_str text = gg_arena_printf(arena, "%.*s.count_nonzero(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(x));
    if (s.unique) { /* equal ones lie side by side; of nothing there is none */
        gg_str operand = gg__operand_text(in, s.counted, arena);
        text = gg_arena_printf(arena, "(%.*s.sort(%.*s%s).values.diff().count_nonzero() + min(%.*s.numel(), 1))",
                               GG_STR_ARG(torch), GG_STR_ARG(operand), s.of.rank == 1 ? "" : ".flatten()",
                               GG_STR_ARG(operand));
    }
    if (widening == GG__TO_DOUBLE) text = gg_arena_printf(arena, "%.*s.double()", GG_STR_ARG(text));
    gg_edits_add(out, gg_node_span(s.asked), text);
    return 0;
}

const gg_rule gg_rule_masked_size = {
    .code = "GG044",
    .name = "masked-size",
    .title = "Count, instead of asking how many there are",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
