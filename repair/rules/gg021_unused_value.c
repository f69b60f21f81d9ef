/* GG021 unused-value: a value is brought to Python, or a clock is read, and nobody uses what comes of it.
 * Offers: to delete it, with what was only computed from it.  Refuses: unless nothing reads the names it binds, and evaluating it changes
 * nothing and cannot fail.  Safety: exact.  Page: docs/rules/GG021.md */
#include "repair/slice.h"

/* `a, b = x.min().item(), x.max().item()` */
static bool are_as_many(TSNode names, TSNode values) {
    static const char *const several[] = {"expression_list", "tuple"};
    bool written = gg_node_is(names, "pattern_list") && !ts_node_is_null(values) &&
                   gg__is_one_of(gg_str_from(ts_node_type(values)), several, GG_COUNT(several));
    return written && gg__child_count(names) == gg__child_count(values);
}

static bool is_idle(const gg_rule_input *in, TSNode statement) {
    TSNode inner = gg__child(statement, 0), value = gg__bound_value(statement);
    bool bare = gg_node_is(inner, "call") || gg_node_is(inner, "attribute");
    bool simple = gg_node_is(inner, "assignment") &&
                  (gg_node_is(gg__field(inner, "left"), "identifier") || are_as_many(gg__field(inner, "left"), value));
    if (bare) value = inner;
    return (bare || simple) && gg__is_harmless(in->tree, value) && gg__cannot_fail(in, value);
}

static bool find(const gg_rule_input *in, TSNode *out_statement, gg__slice *slice) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span));
    *out_statement = statement;
    return gg_node_is(statement, "expression_statement") && gg__slice_around(in, statement, is_idle, slice, NULL);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__slice slice;
    return find(in, &out->node, &slice);
}

static bool is_last_of_an_emptied_block(const gg__slice *slice, TSNode statement) {
    TSNode block = gg__parent(statement), last = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        if (gg_node_is(gg__child(block, i), "comment")) continue;
        last = gg__child(block, i);
        if (!gg__slice_has(slice, last)) return false;
    }
    return ts_node_eq(last, statement);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__slice slice;
    TSNode statement = match->node;
    (void)arena;
    if (!find(in, &statement, &slice)) return gg_fail(err, GG_ENOMATCH, "the value is used");
    for (size_t i = 0; i < slice.len; i++) {
        if (is_last_of_an_emptied_block(&slice, slice.items[i]))
            gg_edits_add(out, gg_node_span(slice.items[i]), GG_STR("pass"));
        else
            gg__delete_statement(in->tree, slice.items[i], out);
    }
    return 0;
}

const gg_rule gg_rule_unused_value = {
    .code = "GG021",
    .name = "unused-value",
    .title = "Delete this value, which nobody uses",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
