/* GG044 masked-size: a tensor made only to ask how large it is: `len(torch.nonzero(c))`, `x[m].numel()`, `torch.unique(k).numel()`.
 * Offers: the count itself as a 0-d tensor, where a tensor gets it.  Refuses: any other use of the number, unique() of floating numbers, and what is
 * not proven pure.  Safety: exact.  Page: docs/rules/GG044.md */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

/* All uses of the number. */
static bool take(const gg_rule_input *in, const gg__sized *s, gg__widening *widening, gg_arena *arena,
                 gg_edits *edits) {
    gg__scalar scalar = {.sort = GG__SCALAR_INT, .magnitude = GG__MOST_ELEMENTS, .natural = true};
    if (s->columns > 1) scalar.magnitude *= s->columns;
    gg__replacement r = {.node = s->asked, .scalar = scalar, .dtype = GG_STR("torch.int64")};
    bool taken = gg__scalar_replace(in, &r, arena, edits);
    *widening = r.widening;
    return taken;
}

static bool find(const gg_rule_input *in, gg__sized *out) {
    if (!gg_str_is(in->site->id, "GB0036") || in->site->first == NULL) return false;
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at))
        if (gg__is_size(in, at, out))
            return gg__can_name(in->tree, at, "torch") && !gg__has_comment(in->tree, gg_node_span(at));
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__sized s;
    gg__widening widening;
    if (!find(in, &s)) return false;
    out->node = s.asked;
    gg_arena *arena = gg_arena_new(); /* the texts of edits that nobody asked for */
    bool taken = take(in, &s, &widening, arena, NULL);
    gg_arena_free(arena);
    return taken;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__sized s;
    gg__widening widening;
    (void)match;
    if (!find(in, &s) || !take(in, &s, &widening, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the size is not proven to be what a tensor can count");
    gg_str torch = gg__require_module(in->tree, s.asked, "torch", arena, out);
    gg_str text = gg__size_text(in, &s, torch, arena);
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
