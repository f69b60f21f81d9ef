/* The whole look at a number that is taken out of a tensor: what the rules of that family share.  See scalar.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/scalar.h"

static bool is_math_function(const gg_rule_input *in, TSNode call) {
    TSNode function = gg__field(call, "function");
    gg_str math = gg__module_alias(in->tree, call, "math");
    return gg_node_is(function, "attribute") && math.len &&
           gg_str_equal(gg__text(in->tree, gg__field(function, "object")), math) &&
           gg_node_is(gg__field(call, "arguments"), "argument_list") &&
           gg__child_count(gg__field(call, "arguments")) == 1;
}

/* The call at the site: one that is a number, or math.f(E), which makes one of the tensor. */
static bool find(const gg_rule_input *in, gg__extraction *out) {
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "call");
    if (ts_node_is_null(at)) return false;
    if (gg__match_single_extraction(in, at, out)) return true;
    TSNode function = gg__field(at, "function");
    *out = (gg__extraction){.call = at, .value = gg__field(function, "object")};
    bool list = gg_node_is(function, "attribute") && gg__child_count(gg__field(at, "arguments")) == 0 &&
                gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "tolist");
    if (!list && !is_math_function(in, at)) return false;
    if (!list) out->call = out->value = gg__child(gg__field(at, "arguments"), 0);
    out->meta = gg__infer(in, out->value);
    out->lists = list && out->meta.sort == GG__TENSOR ? out->meta.rank : 0;
    if (out->meta.sort != GG__TENSOR || (list ? out->lists == 0 : out->meta.rank != 0) || out->meta.vague) return false;
    out->scalar = gg__scalar_of(in, out->meta, out->value);
    return out->scalar.sort != GG__UNKNOWN;
}

/* `torch.allclose(…)`, `np.random.choice(…)`: what they are asked of is no value. */
static bool is_module(const gg_tree *tree, TSNode node) {
    static const char *const modules[] = {"torch", "numpy", "math", "random", "torch.nn.functional"};
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    for (size_t i = 0; i < GG_COUNT(modules); i++)
        if (gg_node_is(node, "identifier") &&
            gg_str_equal(gg__text(tree, node), gg__module_alias(tree, node, modules[i])))
            return true;
    return false;
}

/* Says why the call at the site is no number that a tensor could stand for. */
static bool refuse(const gg_rule_input *in, const gg__extraction *e) {
    if (ts_node_is_null(e->value)) return false;
    if (e->meta.sort != GG__TENSOR)
        return is_module(in->tree, e->value)
                   ? false
                   : gg__hinder(in, e->value, "not known to be a tensor, or not proven to be harmless");
    if (!e->lists && e->meta.rank != 0) return gg__hinder(in, e->value, "has %d dimensions", (int)e->meta.rank);
    if (gg__is_floating(e->meta.dtype) && e->scalar.sort == GG__SCALAR_INT)
        return gg__hinder(in, e->call, "raises where the value is not finite, as a tensor would not");
    return gg__hinder(in, e->value, "not known well enough");
}

/* One look at all uses; with `edits`, also at how they are written. */
static bool look(gg__scalar_uses *u, const gg__extraction *e) {
    TSNode statement = gg__statement(e->call);
    bool used = e->lists ? gg__scalar_list(u, e->call, e->scalar, e->lists) : gg__scalar_use(u, e->call, e->scalar);
    return used ? gg__scalar_follow(u, statement) : gg__scalar_refuse(u, e->call);
}

static bool take(const gg_rule_input *in, gg__leeway leeway, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    gg__extraction e = {0}; /* what `find` got to know before it gave up */
    gg__scalar_uses asked, settled;
    if (in->site->first == NULL) return false;
    if (!find(in, &e)) return refuse(in, &e);
    if (gg__has_comment(in->tree, gg_node_span(e.call))) return gg__hinder(in, e.call, "has a comment inside");
    gg_str dtype = e.truth       ? GG_STR("torch.bool")
                   : e.truncates ? GG_STR("torch.int64")
                   : e.any_float ? GG_STR("torch.float64")
                                 : e.meta.dtype;
    bool uncertain = gg__is_integer(e.meta.dtype) && !e.cuts && !gg__has_certain_dtype(in, e.value);
    if (!gg__scalar_uses_init(&asked, in, dtype, e.widening)) return false;
    asked.uncertain = uncertain;
    asked.approximate = leeway == GG__NEARLY;
    asked.indexes = leeway == GG__AS_INDEX;
    asked.arena = arena;
    if (!look(&asked, &e)) return false;
    if (!gg__scalar_uses_init(&settled, in, dtype, asked.widening)) return false;
    settled.settled = true;
    settled.uncertain = uncertain;
    settled.approximate = asked.approximate;
    settled.indexes = asked.indexes;
    settled.taken = e.call;
    settled.arena = arena;
    settled.edits = edits;
    if (!look(&settled, &e)) return false;
    *out_node = e.call;
    if (edits)
        gg_edits_add(edits, gg_node_span(e.call), gg__tensor_text(in, &e, settled.widening, settled.at_once, arena));
    return true;
}

static bool replace(const gg_rule_input *in, gg__replacement *r, gg_arena *arena, gg_edits *edits) {
    bool named = !ts_node_is_null(r->name);
    for (int round = 0; round < 2; round++) {
        gg__scalar_uses u;
        if (!gg__scalar_uses_init(&u, in, r->dtype, r->widening)) return false;
        u.settled = round == 1;
        u.approximate = r->approximate;
        u.one_dtype = r->one_dtype;
        u.by_default = r->by_default;
        u.taken = r->node;
        u.inside = r->inside;
        u.first = r->first;
        if (r->known) {
            gg__visit(r->node, gg__scalar_forget_bound, &u);
            for (size_t i = 0; i < r->known_count; i++) gg__scalar_learn(&u, r->known[i].name, r->known[i].meta);
        }
        u.asked = r->asked;
        u.ask_count = r->ask_count;
        u.arena = arena;
        u.edits = round == 1 ? edits : NULL;
        bool used = named ? gg__scalar_track(&u, r->name, ts_node_end_byte(r->node), r->scalar, 0)
                          : gg__scalar_use(&u, r->node, r->scalar);
        if (!used) return gg__scalar_refuse(&u, r->node);
        if (!gg__scalar_follow(&u, named ? r->node : gg__statement(r->node))) return false;
        if (r->one_dtype && (u.widening != r->widening || u.rewrites))
            return gg__hinder(in, r->node, "is computed with as Python computes, where it was a tensor on other ways");
        r->widening = u.widening;
        r->rewrites = u.rewrites;
    }
    return true;
}

bool gg__scalar_replace(const gg_rule_input *in, gg__replacement *r, gg_arena *arena, gg_edits *edits) {
    gg_arena *own = arena ? NULL : gg_arena_new(); /* the texts of edits that nobody asked for */
    bool taken = replace(in, r, arena ? arena : own, edits);
    gg_arena_free(own);
    return taken;
}

bool gg__take_scalar(const gg_rule_input *in, gg__leeway leeway, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    static const char *const ids[] = {"GB0124", "GB0033", "GB0109"}; /* .item(), math.f(t), .tolist() of floats */
    if (!gg__has_id(in, ids, GG_COUNT(ids))) return false;
    gg_arena *own = gg_arena_new(); /* the texts of edits that nobody asked for */
    bool taken = !(leeway != GG__EXACTLY && take(in, GG__EXACTLY, out_node, own, NULL)) &&
                 take(in, leeway, out_node, arena ? arena : own, edits);
    gg_arena_free(own);
    return taken;
}
