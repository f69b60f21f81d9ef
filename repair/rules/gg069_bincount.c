/* GG069 bincount: how many bins torch.bincount gives depends on the largest value.
 * Offers: one row per value, 1 at its bin, and their sum, where all values are proven to lie below `minlength`.  Refuses: where they are not;
 * weights, whose sum depends on the order; more bins than a few, each of which takes a column.
 * Safety: exact.  Page: docs/rules/GG069.md */
#include "repair/infer.h"
#include "repair/ranges.h"

enum { MOST_BINS = 64 };

typedef struct counting {
    TSNode call, values, bins;
} counting;

static bool find(const gg_rule_input *in, counting *c) {
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "call"), given[3];
    TSNode function = gg__field(at, "function"), arguments = gg__field(at, "arguments");
    if (in->site->first == NULL || !gg_node_is(arguments, "argument_list") ||
        !gg__refers_to(in->tree, function, "torch.bincount"))
        return false;
    gg__inference s = {.in = in};
    gg__call call = {.node = at, .arguments = arguments};
    if (!gg__bind_arguments(&s, &call, (const char *const[]){"input", "weights", "minlength"}, 3, given)) return false;
    *c = (counting){at, given[0], given[2]};
    gg__meta x = gg__infer(in, c->values), bins = gg__infer(in, c->bins);
    gg__range range;
    bool weighed = !ts_node_is_null(given[1]) && !gg_node_is(given[1], "none");
    return !weighed && x.sort == GG__TENSOR && x.rank == 1 && !x.vague && gg_str_is(x.dtype, "torch.int64") &&
           bins.constant && bins.sort == GG__SCALAR_INT && bins.value >= 1 && bins.value <= MOST_BINS &&
           gg__range_of(in, c->values, &range) && range.low >= 0 && range.high < bins.value &&
           !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    counting c;
    if (!gg_str_is(in->site->id, "GB0036") || !find(in, &c)) return false;
    out->node = c.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    counting c;
    if (!find(in, &c)) return gg_fail(err, GG_ENOMATCH, "the values are not proven to lie below minlength");
    gg_str torch = gg__require_module(in->tree, c.call, "torch", arena, out);
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.nn.functional.one_hot(%.*s, %.*s).sum(0)", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__text(in->tree, c.values)), GG_STR_ARG(gg__text(in->tree, c.bins))));
    return 0;
}

const gg_rule gg_rule_bincount = {
    .code = "GG069",
    .name = "bincount",
    .title = "Count the columns of a one-hot tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
