/* What a name holds behind a branch: of what both arms leave in it, a selection.  See select.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/gradients.h"
#include "repair/grown.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

/* What a name holds in an arm that has not assigned it. */
static bool value_in(gg__select *s, gg__arm *arm, gg__arm *before, gg_str name, TSNode sample, gg__binding *out) {
    const gg__binding *own = gg__arm_find(arm, name), *old = gg__arm_find(before, name);
    if (own || old) {
        *out = own ? *own : *old;
        return true;
    }
    if (!gg__bound_before(s->in->tree, s->statement, name) || ts_node_is_null(sample)) return false;
    gg__meta m = gg__infer(s->in, sample);
    bool number = gg__is_number(m);
    if (!number && !gg__owns(s->in, s->statement, name) && gg__alias_shows(s->in, s->statement, sample, name))
        return false;
    s->copies = s->copies || (!number && gg__is_copy(s->in, s->statement, sample, name));
    *out = (gg__binding){.name = name, .text = name, .meta = m, .from = sample, .reads = gg__outer(s, name)};
    out->flows = out->reads;
    return true;
}

typedef struct sample_search {
    const gg_tree *tree;
    gg_str name;
    TSNode found;
} sample_search;

static bool is_no_sample(TSNode node, void *data) {
    sample_search *search = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(search->tree, node), search->name)) return true;
    search->found = node;
    return false;
}

TSNode gg__named_in_arms(const gg__select *s, TSNode node, gg_str name) {
    sample_search search = {.tree = s->in->tree, .name = name};
    bool going = gg__visit(node, is_no_sample, &search);
    for (TSNode at = node; s->skips && going && !ts_node_is_null(at); at = ts_node_next_named_sibling(at))
        going = gg__visit(at, is_no_sample, &search);
    return search.found;
}

static bool is_wanted(const gg__select *s, gg_str name) {
    return gg__is_returned(name) || gg__is_appended(name) || gg__is_live(s, name);
}

/* The name has no value that a selection could give; why is told where somebody reads it. */
static bool lose(const gg__select *s, gg__arm *arm, gg_str name, const char *why) {
    gg__binding lost = {.name = name};
    if (why && is_wanted(s, name)) gg__hinder(s->in, s->statement, "`%.*s` %s", GG_STR_ARG(name), why);
    return gg__arm_bind(arm, lost);
}

/* `c = torch.tensor([1., 2.])` in front of the branch, and another such in an arm: both have torch's default dtype, whatever it is. */
static void follow_default(const gg__select *s, gg__binding *b, gg__meta other) {
    if (other.vague != GG__DEFAULT || b->meta.vague || !gg_node_is(b->from, "identifier") ||
        !gg_str_equal(b->text, b->name))
        return;
    gg__meta made = gg__infer(s->in, gg__value_at(s->in->tree, s->statement, b->name));
    if (made.sort == GG__TENSOR && made.vague == GG__DEFAULT && gg_str_equal(made.dtype, b->meta.dtype))
        b->meta.vague = GG__DEFAULT;
}

bool gg__merge(gg__select *s, gg__arm *arm, gg__test *test, TSNode node, gg__arm *yes, gg__arm *no, gg_str name) {
    gg__binding a, b;
    TSNode sample = gg__named_in_arms(s, node, name);
    if (!value_in(s, yes, arm, name, sample, &a) || !value_in(s, no, arm, name, sample, &b))
        return lose(s, arm, name, "has no known value of its own on both ways");
    if (gg_str_equal(a.text, b.text) && a.form == b.form && (a.form || a.meta.sort != GG__UNKNOWN))
        return gg__arm_bind(arm, a);
    if (a.form || b.form) return lose(s, arm, name, "gives values in another form on the other way");
    gg__binding chosen;
    if ((a.number || gg__is_number(a.meta)) && (b.number || gg__is_number(b.meta)) &&
        gg__choose_number(s, *test, &a, &b, &chosen))
        return gg__arm_bind(arm, chosen);
    follow_default(s, &a, b.meta);
    follow_default(s, &b, a.meta);
    gg__meta first = a.meta;
    a.meta = gg__beside_number(s->in, a.from, a.meta, b.meta);
    b.meta = gg__beside_number(s->in, b.from, b.meta, first);
    s->apart = s->apart || (s->grown && is_wanted(s, name) && gg__have_other_sizes(a.meta, b.meta));
    if (!gg__same_tensor(a.meta, b.meta)) {
        if (is_wanted(s, name)) gg__hinder_unlike(s->in, s->statement, name, a.meta, b.meta);
        return lose(s, arm, name, NULL);
    }
    if (!gg__selectable(s, a.meta) || !gg__selectable(s, b.meta))
        return lose(s, arm, name, "or its gradient may be infinite or NaN where it is not wanted");
    if (!(a.reads & b.reads) && (s->unseen || gg__sizes_may_differ(s->in, s->statement, a.meta)))
        return lose(s, arm, name, "may have other sizes on the other way with other inputs");
    if (!gg__read_gently(s, a.flows ^ b.flows))
        return lose(s, arm, name, "is made of what only one way reads: " GG__ROUGH_ORIGIN);
    bool others = !a.meta.fresh && !b.meta.fresh && !ts_node_is_null(a.from) && !ts_node_is_null(b.from);
    if (others && gg__may_be_one(s->in, s->statement, a.from, b.from))
        return lose(s, arm, name, "may be one tensor on both ways, and a selection is a new one");
    gg__binding out = {.name = name, .text = gg__where(s, *test, a.text, b.text), .meta = a.meta, .pending = true};
    out.meta.linear = a.meta.linear && b.meta.linear;
    out.meta.fresh = true;
    out.reads = a.reads & b.reads;
    out.flows = a.flows | b.flows;
    return gg__arm_bind(arm, out);
}

bool gg__read_gently(const gg__select *s, uint64_t names) {
    for (size_t i = 0; i < s->outer_count; i++)
        if ((names >> i & 1) && gg__is_made_roughly(s->in, s->statement, s->outer[i])) return false;
    return true;
}

static bool is_merged(const gg__select *s, gg__arm *arm, const gg__binding *b, uint32_t depth) {
    const gg__binding *old = gg__arm_find(arm, b->name);
    if (old && gg_str_equal(old->text, b->text)) return false;
    if (b->form) return false;
    return depth > 0 || is_wanted(s, b->name);
}

size_t gg__count_merges(const gg__select *s, gg__arm *arm, gg__arm *yes, gg__arm *no, uint32_t depth) {
    size_t count = 0;
    for (size_t i = 0; i < yes->count; i++) count += is_merged(s, arm, &yes->items[i], depth);
    for (size_t i = 0; i < no->count; i++)
        count += !gg__arm_find(yes, no->items[i].name) && is_merged(s, arm, &no->items[i], depth);
    return count;
}
