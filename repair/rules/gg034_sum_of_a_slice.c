/* GG034 sum-of-a-slice: `x[:, :n].sum()` with n from a tensor: how long the slice is, a graph does not know.
 * Offers: the sum of all elements, with zero in place of those behind n.  Refuses: other consumers than sum() over the sliced dimension, a lower bound
 * or a step, further indices, and what is not proven to be a tensor of such dimensions.
 * Safety: numeric (sums are taken in another order).  Page: docs/rules/GG034.md */
#include "repair/scalar.h"

typedef struct slice {
    TSNode call, subscript, x; /* `x[:, :n].sum()`, `x[:, :n]`, `x` */
    TSNode n;                  /* the 0-d tensor */
    int32_t dim, rank;
    bool natural; /* n is not below zero */
} slice;

static bool is_bound(const gg_rule_input *in, TSNode node, slice *out) {
    gg__extraction e;
    out->n = node;
    if (gg__match_extraction(in, node, &e)) {
        if (e.scalar.sort != GG__SCALAR_INT || e.widening) return false;
        out->n = e.value;
    }
    gg__meta m = gg__infer(in, out->n);
    bool integer = gg_str_starts_with(m.dtype, GG_STR("torch.int"));
    if (m.sort != GG__TENSOR || m.rank != 0 || m.vague || !integer) return false;
    out->natural = gg__scalar_of(in, m, out->n).natural;
    return out->natural || gg_node_is(out->n, "identifier");
}

/* `:` and `:n`, the second once; `...` in front. */
static bool read_indices(const gg_rule_input *in, slice *s) {
    const gg_tree *tree = in->tree;
    uint32_t count = gg__child_count(s->subscript), bounds = 0;
    bool from_end = false;
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(s->subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
            continue;
        }
        gg_str text = gg__text(tree, index);
        if (!gg_node_is(index, "slice") || text.len == 0 || text.ptr[0] != ':') return false;
        if (gg__child_count(index) == 0 && text.len == 1) continue;
        if (gg__child_count(index) != 1 || gg_str_find(text, GG_STR(":"), 1) != SIZE_MAX ||
            !is_bound(in, gg__child(index, 0), s))
            return false;
        s->dim = from_end ? s->rank - (int32_t)(count - i) : (int32_t)i - 1;
        bounds++;
    }
    return bounds == 1 && s->dim >= 0 && s->dim < s->rank;
}

/* sum(), or over literal dimensions of which the sliced one is one. */
static bool sums_over_it(const gg_rule_input *in, const slice *s) {
    TSNode arguments = gg__field(s->call, "arguments");
    TSNode dims = {0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        gg_str keyword = gg__text(in->tree, gg__field(argument, "name"));
        bool named = gg_node_is(argument, "keyword_argument");
        if (named && gg_str_is(keyword, "keepdim")) continue;
        if ((named && !gg_str_is(keyword, "dim")) || !ts_node_is_null(dims)) return false;
        dims = named ? gg__field(argument, "value") : argument;
    }
    if (ts_node_is_null(dims)) return gg__child_count(arguments) == 0;
    bool several = gg_node_is(dims, "tuple") || gg_node_is(dims, "list"), found = false;
    for (uint32_t i = 0; i < (several ? gg__child_count(dims) : 1); i++) {
        double value = 0;
        if (!gg__literal_value(in->tree, several ? gg__child(dims, i) : dims, &value)) return false;
        found = found || (int32_t)(value < 0 ? value + s->rank : value) == s->dim;
    }
    return found;
}

static bool find(const gg_rule_input *in, slice *s) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    TSNode attribute = gg__parent(at);
    *s = (slice){.subscript = at, .x = gg__field(at, "value"), .call = gg__parent(attribute)};
    if (!gg_node_is(at, "subscript") || in->site->first == NULL || !gg_node_is(attribute, "attribute") ||
        !gg_node_is(s->call, "call") || !ts_node_eq(gg__field(s->call, "function"), attribute) ||
        !gg_str_is(gg__text(in->tree, gg__field(attribute, "attribute")), "sum"))
        return false;
    gg__meta x = gg__infer(in, s->x);
    s->rank = x.rank;
    bool named = gg_node_is(s->x, "identifier") || gg_node_is(s->x, "attribute");
    return x.sort == GG__TENSOR && named &&
           (gg__is_floating(x.dtype) || gg_str_starts_with(x.dtype, GG_STR("torch.int"))) && read_indices(in, s) &&
           sums_over_it(in, s) && !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    slice s;
    if (!gg_str_is(in->site->id, "GB0124") || !find(in, &s)) return false;
    out->node = s.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    slice s;
    if (!find(in, &s)) return gg_fail(err, GG_ENOMATCH, "this is not proven to be a sum over the sliced dimension");
    gg_str torch = gg__require_module(in->tree, s.subscript, "torch", arena, out);
    gg_str x = gg__text(in->tree, s.x), n = gg__text(in->tree, gg__strip_parentheses(s.n));
    /* a negative bound counts from the end */
    gg_str bound = s.natural
                       ? n
                       : gg_arena_printf(arena, "%.*s.where(%.*s < 0, %.*s + %.*s.shape[%d], %.*s)", GG_STR_ARG(torch),
                                         GG_STR_ARG(n), GG_STR_ARG(n), GG_STR_ARG(x), s.dim, GG_STR_ARG(n));
    gg_str shape = GG_STR_NULL; /* `[:, None]`: along its own dimension */
    for (int32_t i = s.dim + 1; i < s.rank; i++) shape = gg_arena_printf(arena, "%.*s, None", GG_STR_ARG(shape));
    if (shape.len) shape = gg_arena_printf(arena, "[:%.*s]", GG_STR_ARG(shape));
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena,
                                 "%.*s.where(%.*s.arange(%.*s.shape[%d], device=%.*s.device)%.*s < %.*s, %.*s, 0)",
                                 GG_STR_ARG(torch), GG_STR_ARG(torch), GG_STR_ARG(x), s.dim, GG_STR_ARG(x),
                                 GG_STR_ARG(shape), GG_STR_ARG(bound), GG_STR_ARG(x)));
    return 0;
}

const gg_rule gg_rule_sum_of_a_slice = {
    .code = "GG034",
    .name = "sum-of-a-slice",
    .title = "Sum with a mask",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
