/* GG077 bound-by-position: `t.uniform_(**{'from': a, 'to': b})`.  `from` is a word of Python's, and Dynamo cannot write such a call down.
 * Offers: the bounds by position.  Refuses: a dictionary that is not written out in the call, other keys, bounds in another order that may not be pure; a tensor that
 * was not made for it (Inductor of torch 2.13 cannot draw into every view).
 * Safety: exact.  Page: docs/rules/GG077.md */
#include "repair/hindrance.h"
#include "repair/syntax.h"

/* The values of "from" and "to"; to is null where it is not told. */
static bool read(const gg_tree *tree, TSNode dictionary, TSNode *from, TSNode *to) {
    *from = *to = (TSNode){0};
    for (uint32_t i = 0; i < gg__child_count(dictionary); i++) {
        TSNode pair = gg__child(dictionary, i), key = gg__field(pair, "key");
        gg_str text = gg__text(tree, key);
        bool quoted = gg_node_is(pair, "pair") && gg_node_is(key, "string") && text.len > 2;
        gg_str name = quoted ? gg_str_slice(text, 1, text.len - 1) : GG_STR_NULL;
        TSNode *bound = gg_str_is(name, "from") ? from : gg_str_is(name, "to") ? to : NULL;
        if (bound == NULL || !ts_node_is_null(*bound)) return false;
        *bound = gg__field(pair, "value");
    }
    return gg_node_is(dictionary, "dictionary") && !ts_node_is_null(*from);
}

static bool find(const gg_rule_input *in, TSNode *arguments, TSNode *from, TSNode *to) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span));
    *arguments = gg__field(call, "arguments");
    TSNode splat = gg__child(*arguments, 0), other = gg__child(*arguments, 1), function = gg__field(call, "function");
    bool like;
    if (!gg_str_is(in->site->id, "GB0110") || !gg_node_is(call, "call") ||
        !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "uniform_"))
        return false;
    if (!gg__makes_anew(in->tree, gg__field(function, "object"), &like) || like)
        return gg__hinder(in, gg__field(function, "object"),
                          "is not made here: compiled, torch cannot draw into a view");
    if (gg_node_is(splat, "keyword_argument")) { /* `to=b, **{'from': a}` */
        TSNode swap = splat;
        splat = other;
        other = swap;
    }
    if (!gg_node_is(splat, "dictionary_splat") || !read(in->tree, gg__child(splat, 0), from, to))
        return gg__hinder(in, *arguments, "the bounds are not written out in the call");
    if (gg__child_count(*arguments) == 2 && ts_node_is_null(*to) && gg_node_is(other, "keyword_argument") &&
        gg_str_is(gg__text(in->tree, gg__field(other, "name")), "to"))
        *to = gg__field(other, "value");
    else if (gg__child_count(*arguments) != 1)
        return gg__hinder(in, *arguments, "has other arguments");
    bool swapped = !ts_node_is_null(*to) && ts_node_start_byte(*to) < ts_node_start_byte(*from);
    if (swapped && !(gg__is_harmless(in->tree, *from) && gg__is_harmless(in->tree, *to))) return false;
    return !gg__has_comment(in->tree, gg_node_span(*arguments));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode from, to;
    return find(in, &out->node, &from, &to);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode arguments = match->node, from, to;
    if (!find(in, &arguments, &from, &to)) return gg_fail(err, GG_ENOMATCH, "the bounds are not written out");
    gg_str low = gg__text(in->tree, from), high = gg__text(in->tree, to);
    gg_edits_add(out, gg_node_span(arguments),
                 gg_arena_printf(arena, "(%.*s%s%.*s)", GG_STR_ARG(low), high.len ? ", " : "", GG_STR_ARG(high)));
    return 0;
}

const gg_rule gg_rule_bound_by_position = {
    .code = "GG077",
    .name = "bound-by-position",
    .title = "Give the bounds by position",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
