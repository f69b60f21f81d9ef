/* Why a branch is not made a selection, in words.  See select.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

enum { MAX_DEPTH = 32 }; /* of an expression's parts that are asked for: each is inferred anew */

/* The first part of an expression of which nothing is known. */
static TSNode unknown_part(const gg__select *s, const gg__arm *arm, TSNode node, uint32_t depth) {
    static const char *const kinds[] = {"call", "subscript", "binary_operator", "unary_operator"};
    for (uint32_t i = 0; depth < MAX_DEPTH && i < gg__child_count(node); i++) {
        TSNode part = unknown_part(s, arm, gg__child(node, i), depth + 1);
        if (!ts_node_is_null(part)) return part;
    }
    for (size_t i = 0; i < GG_COUNT(kinds); i++)
        if (gg_node_is(node, kinds[i]) && gg__infer_in(s, arm, node).sort == GG__UNKNOWN) return node;
    return (TSNode){0};
}

bool gg__unselectable(const gg__select *s, const gg__arm *arm, TSNode node) {
    return s->in->hindrance && gg__unselectable_of(s, arm, node, gg__infer_in(s, arm, node));
}

bool gg__unselectable_of(const gg__select *s, const gg__arm *arm, TSNode node, gg__meta m) {
    if (s->in->hindrance == NULL) return false;
    if (gg__may_be_none(s->in, node))
        return gg__hinder(s->in, node, "reads an argument that is None unless a caller gives it");
    if (m.sort == GG__UNKNOWN) {
        TSNode part = unknown_part(s, arm, node, 0);
        return gg__hinder(s->in, ts_node_is_null(part) ? node : part,
                          "not proven to be harmless where it does not run now");
    }
    if (m.sort != GG__TENSOR) return gg__hinder(s->in, node, "a selection is a tensor, which this is not");
    if (!m.smooth) return gg__hinder(s->in, node, "where it is not wanted, its gradient may be infinite or NaN");
    return gg__hinder(s->in, node, "it may be infinite or NaN, which is what the condition asks");
}

bool gg__untestable(const gg__select *s, TSNode condition) {
    if (s->in->hindrance == NULL) return false;
    if (gg__draws_a_float(s, gg__strip_parentheses(condition)))
        return gg__hinder(s->in, condition,
                          "draws a floating number, which torch hands to compiled code in a wrong form");
    TSNode part = unknown_part(s, NULL, condition, 0);
    if (!ts_node_is_null(part))
        return gg__hinder(s->in, part, "not known to be a tensor, or not proven to be harmless");
    return gg__hinder(s->in, condition, "asks what torch.where cannot be asked");
}
