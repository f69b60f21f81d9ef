/* Numbers taken out of tensors: what is known of names from a statement on.  See scalar.h. */
#include "repair/scalar.h"

#include "repair/infer.h"

#include <string.h>

/* `self.scale` of `self` */
static bool is_part_of(gg_str dotted, gg_str name) {
    return dotted.len > name.len && dotted.ptr[name.len] == '.' && gg_str_starts_with(dotted, name);
}

void gg__scalar_forget(gg__scalar_uses *u, gg_str name) {
    for (size_t i = 0; i < u->record.fact_count; i++)
        if (gg_str_equal(u->facts[i].name, name) || is_part_of(u->facts[i].name, name)) u->facts[i].name = GG_STR_NULL;
}

void gg__scalar_learn(gg__scalar_uses *u, gg_str name, gg__meta m) {
    static const gg_value_kind kinds[] = {[GG__UNKNOWN] = GG_VALUE_UNKNOWN,
                                          [GG__SCALAR_INT] = GG_VALUE_INT,
                                          [GG__SCALAR_FLOAT] = GG_VALUE_FLOAT,
                                          [GG__SCALAR_BOOL] = GG_VALUE_BOOL,
                                          [GG__TENSOR] = GG_VALUE_TENSOR};
    gg__scalar_forget(u, name);
    size_t at = 0;
    while (at < u->record.fact_count && u->facts[at].name.len) at++;
    if (!gg__scalar_takes(u, m) || at == GG__MAX_FACTS) return;
    if (at == u->record.fact_count) u->record.fact_count++;
    memcpy(u->shapes[at], m.shape, sizeof(u->shapes[at]));
    u->facts[at] = (gg_fact){.name = name, .kind = kinds[m.sort], .dtype = m.dtype, .device = m.device, .rank = m.rank};
    u->facts[at].shape = u->shapes[at];
    u->facts[at].layout = m.layout.len ? GG_LAYOUT_STRIDED : GG_LAYOUT_CONTIGUOUS;
}

bool gg__scalar_forget_attributes(TSNode node, void *data) { /* `self.scale = …` */
    gg__scalar_uses *u = data;
    if (gg_node_is(node, "attribute") && ts_node_eq(gg__field(gg__parent(node), "left"), node))
        gg__scalar_forget(u, gg__text(u->in.tree, node));
    return true;
}

bool gg__scalar_forget_bound(TSNode node, void *data) {
    gg__scalar_uses *u = data;
    if (gg_node_is(node, "identifier") && gg__is_binding(node)) gg__scalar_forget(u, gg__text(u->in.tree, node));
    return gg__scalar_forget_attributes(node, data);
}

void gg__scalar_learn_tracked(gg__scalar_uses *u, const gg__tracked *t) {
    bool unknown = t->lists || gg__is_rebound(u, t, (gg_span){0});
    gg__scalar_learn(u, t->name, (gg__meta){.sort = unknown ? GG__UNKNOWN : t->scalar.sort});
}

bool gg__scalar_binds_nothing(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "identifier") || !gg__is_binding(node);
}

/* What a name is that is bound to it: also a number that is still taken out of another tensor. */
gg__meta gg__scalar_given(const gg__scalar_uses *u, TSNode value) {
    gg__extraction e;
    gg__meta m = gg__infer_loosely(&u->in, value);
    bool taken = m.sort == GG__UNKNOWN && gg__match_extraction(&u->in, gg__strip_parentheses(value), &e) && !e.lists;
    return taken ? (gg__meta){.sort = e.scalar.sort} : m;
}

/* `lo, hi = v, w`: the values are there before one of the names is bound. */
void gg__scalar_learn_several(gg__scalar_uses *u, TSNode statement) {
    enum { MOST = 4 };
    gg__meta metas[MOST];
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left"),
           right = gg__field(assignment, "right");
    uint32_t count = gg__child_count(left);
    bool fits = gg_node_is(statement, "expression_statement") && gg_node_is(assignment, "assignment") &&
                gg_node_is(left, "pattern_list") && gg_node_is(right, "expression_list") &&
                gg__child_count(right) == count && count <= MOST;
    for (uint32_t i = 0; fits && i < count; i++) {
        fits = gg_node_is(gg__child(left, i), "identifier") &&
               gg__visit(gg__child(right, i), gg__scalar_binds_nothing, NULL);
        metas[i] = gg__scalar_given(u, gg__child(right, i));
    }
    gg__visit(statement, gg__scalar_forget_bound, u);
    for (uint32_t i = 0; fits && i < count; i++)
        gg__scalar_learn(u, gg__text(u->in.tree, gg__child(left, i)), metas[i]);
}
