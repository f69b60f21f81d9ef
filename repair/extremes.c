/* What gives two tensors at once, values and where they lie: `x.max(dim)`, `x.sort()`, `x.topk(k)`.  See infer.h.
 *
 * The gradient of the values goes to where they came from: finite, and dependent on the values. */
#include "repair/infer.h"

static gg__meta reduced(gg__inference *s, const gg__call *call, gg__meta x) {
    TSNode given[2];
    bool bound = gg__bind_arguments(s, call, (const char *const[]){"dim", "keepdim"}, 2, given);
    if (!bound || ts_node_is_null(given[0]) || gg__infer_node(s, given[0]).sort != GG__SCALAR_INT) return gg__unknown;
    return gg__reduced(s, x, given[0], given[1]);
}

static gg__meta sorted(gg__inference *s, const gg__call *call, gg__meta x) {
    TSNode given[2];
    int32_t dim;
    if (!gg__bind_arguments(s, call, (const char *const[]){"dim", "descending"}, 2, given) ||
        (!ts_node_is_null(given[0]) && !gg__dim(gg__infer_node(s, given[0]), x.rank, &dim)) ||
        (!ts_node_is_null(given[1]) && gg__infer_node(s, given[1]).sort != GG__SCALAR_BOOL))
        return gg__unknown;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

static gg__meta largest(gg__inference *s, const gg__call *call, gg__meta x) {
    TSNode given[4];
    int32_t dim = x.rank - 1;
    if (!gg__bind_arguments(s, call, (const char *const[]){"k", "dim", "largest", "sorted"}, 4, given) ||
        ts_node_is_null(given[0]) ||
        (!ts_node_is_null(given[1]) && !gg__dim(gg__infer_node(s, given[1]), x.rank, &dim)))
        return gg__unknown;
    for (int i = 2; i < 4; i++)
        if (!ts_node_is_null(given[i]) && gg__infer_node(s, given[i]).sort != GG__SCALAR_BOOL) return gg__unknown;
    gg__meta k = gg__infer_node(s, given[0]);
    if (k.sort != GG__SCALAR_INT || !k.seen || k.value < 0 || k.value > (double)x.shape[dim]) return gg__unknown;
    TSNode of = call->from ? gg__child(call->arguments, 0) : gg__field(gg__field(call->node, "function"), "object");
    if (!s->loose && !gg__has_at_least(s->in, of, x.rank, dim, (int64_t)k.value)) return gg__unknown;
    x.shape[dim] = (int64_t)k.value;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

/* Is it the first or second of what a call gives?  The call goes to *call. */
static bool find(gg__inference *s, TSNode node, TSNode *call, bool *places) {
    bool attribute = gg_node_is(node, "attribute");
    *call = gg__strip_parentheses(gg__field(node, attribute ? "object" : "value"));
    if (!gg_node_is(*call, "call") || !gg_node_is(gg__field(*call, "function"), "attribute")) return false;
    gg_str which = gg__text(s->in->tree, gg__field(node, attribute ? "attribute" : "subscript"));
    *places = gg_str_is(which, attribute ? "indices" : "1");
    return *places || gg_str_is(which, attribute ? "values" : "0");
}

gg__meta gg__one_of_two(gg__inference *s, TSNode node) {
    static const struct {
        const char *name;
        gg__meta (*infer)(gg__inference *s, const gg__call *call, gg__meta x);
    } pairs[] = {{"max", reduced}, {"min", reduced}, {"median", reduced}, {"sort", sorted}, {"topk", largest}};
    TSNode node_of_call;
    bool places;
    if (!find(s, node, &node_of_call, &places) || !gg_node_is(gg__field(node_of_call, "arguments"), "argument_list"))
        return gg__unknown;
    gg__call call = gg__read_call(s, node_of_call);
    for (size_t i = 0; i < GG_COUNT(pairs); i++) {
        if (!gg_str_is(call.name, pairs[i].name) || call.form == GG__FUNCTIONAL) continue;
        gg__read_operand(s, &call);
        gg__meta x = call.x;
        if (x.sort != GG__TENSOR || x.rank < 1 || gg__elements(x) < 1 ||
            (!gg__is_floating(x.dtype) && !gg__is_integer(x.dtype)))
            return gg__unknown;
        x.fresh = true;
        x.linear = false;
        x = pairs[i].infer(s, &call, x);
        if (!places || x.sort != GG__TENSOR) return x;
        x = gg__as_dtype(x, GG_STR("torch.int64"), GG__CERTAIN);
        x.smooth = x.linear = true;
        return x;
    }
    return gg__unknown;
}
