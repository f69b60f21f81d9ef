/* Why what has a size that values decide is left as it is.  See masks.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"

/* What the site is an index of: `x[m]`, `x.masked_select(m)`. */
static bool is_choice(const gg_rule_input *in, TSNode node, TSNode *base, TSNode *mask) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    *base = gg__field(node, "value");
    *mask = gg__strip_parentheses(gg__field(node, "subscript"));
    if (gg_node_is(node, "subscript")) return gg__child_count(node) == 2;
    *base = gg__field(function, "object");
    *mask = gg__child(arguments, 0);
    return gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "masked_select") &&
           gg__child_count(arguments) == 1;
}

/* The choice at the site, or around it where the site is its mask. */
static TSNode choice_at(const gg_rule_input *in, TSNode *base, TSNode *mask) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !is_choice(in, at, base, mask)) at = gg__parent(at);
    return gg_node_is(at, "block") ? (TSNode){0} : at;
}

bool gg__masked_why(const gg_rule_input *in) {
    TSNode base, mask, choice = choice_at(in, &base, &mask);
    gg__item item;
    if (!gg_str_is(in->site->id, "GB0036") || in->site->first == NULL || ts_node_is_null(choice)) return false;
    if (gg__masked_item(in, choice, &item))
        return gg__hinder_generally(
            in, choice,
            "is more than summed, counted or stored under the mask: how many elements it has is known at run "
            "time only");
    gg__meta x = gg__infer(in, base), m = gg__infer(in, mask);
    if (gg__is_number(m)) return false;
    if (x.sort != GG__TENSOR) return gg__hinder(in, base, "not known to be a tensor, or not proven to be harmless");
    if (m.sort != GG__TENSOR) return gg__hinder(in, mask, "not known to be a mask, or not proven to be harmless");
    if (!gg__is_bool(m.dtype)) return false;
    return gg__hinder(in, mask, "not proven to be a mask of the first dimensions of what it chooses from");
}

bool gg__sized_why(const gg_rule_input *in) {
    static const struct {
        const char *name, *why;
    } rows[] = {
        {"nonzero", "has as many rows as values say, at run time only: a mask and torch.where would keep the size"},
        {"argwhere", "has as many rows as values say, at run time only: a mask and torch.where would keep the size"},
        {"where", "has as many indices as values say, at run time only: the mask itself and torch.where(m, x, y) would "
                  "keep the size"},
        {"unique",
         "has as many elements as values differ, which is known at run time only: all values that may occur would do"},
        {"unique_consecutive", "has as many elements as values change, which is known at run time only"},
        {"repeat_interleave", "is as long as the values say: output_size= would tell the graph"},
        {"one_hot", "is as wide as the largest value says: num_classes= would tell the graph"},
    };
    TSNode at = gg_node_at(in->tree, in->span);
    gg_str name = gg__text(in->tree, gg__field(gg__field(at, "function"), "attribute"));
    if (!gg_str_is(in->site->id, "GB0036") || !gg_node_is(at, "call")) return false;
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        if (gg_str_is(name, rows[i].name)) return gg__hinder_generally(in, at, rows[i].why);
    return false;
}
