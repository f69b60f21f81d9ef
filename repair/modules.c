/* Calls of modules that the capture knows to be pure: `self.proj(x)`.  See infer.h and gg_step. */
#include "repair/built.h"
#include "repair/infer.h"
#include "repair/loops.h"

/* In every instance, not only in the one that was captured. */
static const gg_fact *module_fact(const gg_rule_input *in, TSNode path) {
    const gg_fact *fact = gg__fact_of(in, gg__text(in->tree, path));
    bool pure = fact && fact->kind == GG_VALUE_MODULE && fact->step_count;
    return pure && gg__is_built_by_class(in->tree, path) ? fact : NULL;
}

/* Of a list the steps are those that each of its modules takes. */
static bool is_list(const gg_fact *fact) {
    return gg_str_is(fact->type, "ModuleList");
}

/* What a loop goes through to give the target: `self.layers` of `for layer in self.layers`, also through enumerate() and zip(); else null. */
static TSNode list_given(const gg_tree *tree, TSNode loop, TSNode target) {
    TSNode left = gg__field(loop, "left"), items = gg__field(loop, "right"), none = {0};
    TSNode arguments = gg__field(items, "arguments"), function = gg__field(items, "function");
    if (ts_node_eq(left, target)) return items;
    if (!gg_node_is(left, "pattern_list") || !ts_node_eq(gg__parent(target), left)) return none;
    uint32_t at = 0;
    while (!ts_node_eq(gg__child(left, at), target)) at++;
    if (gg__names_builtin(tree, function, "enumerate")) return at == 1 ? gg__child(arguments, 0) : none;
    return gg__names_builtin(tree, function, "zip") && gg__child_count(arguments) == gg__child_count(left)
               ? gg__child(arguments, at)
               : none;
}

TSNode gg__list_gone_through(const gg_tree *tree, TSNode name) {
    TSNode binding = gg__only_binding(tree, name), loop = gg__parent(binding), none = {0};
    if (gg_node_is(loop, "pattern_list")) loop = gg__parent(loop);
    bool inside = gg_node_is(loop, "for_statement") && gg__covers(gg__field(loop, "body"), gg_node_span(name));
    return inside ? list_given(tree, loop, binding) : none;
}

/* … of the function of a call. */
static const gg_fact *called(const gg_rule_input *in, TSNode function) {
    bool listed = gg_node_is(function, "identifier");
    TSNode path = listed ? gg__list_gone_through(in->tree, function) : function;
    const gg_fact *fact = ts_node_is_null(path) ? NULL : module_fact(in, path);
    return fact && is_list(fact) == listed ? fact : NULL;
}

bool gg__is_pure_module(const gg_rule_input *in, TSNode function) {
    return called(in, function) != NULL;
}

/* Is each target a module of such a list?  `*counter`: the number that enumerate() gives; null. */
bool gg__goes_through_modules(const gg_rule_input *in, TSNode loop, TSNode *counter) {
    TSNode left = gg__field(loop, "left"), items = gg__field(loop, "right");
    bool several = gg_node_is(left, "pattern_list");
    bool counted = several && gg__names_builtin(in->tree, gg__field(items, "function"), "enumerate");
    *counter = counted ? gg__child(left, 0) : (TSNode){0};
    if (!gg_node_is(loop, "for_statement") ||
        (counted && (gg__child_count(gg__field(items, "arguments")) != 1 || gg__child_count(left) != 2)))
        return false;
    for (uint32_t i = 0; i < (several ? gg__child_count(left) : 1); i++) {
        TSNode target = several ? gg__child(left, i) : left;
        if (!gg_node_is(target, "identifier")) return false;
        if (ts_node_eq(target, *counter)) continue;
        TSNode path = list_given(in->tree, loop, target);
        const gg_fact *fact = ts_node_is_null(path) ? NULL : module_fact(in, path);
        if (!fact || !is_list(fact)) return false;
    }
    return true;
}

/* What a kernel with its parameters makes of one dimension; -1 when it does not fit in. */
static int64_t slid(int64_t size, const int64_t *kernel_stride_padding_dilation) {
    const int64_t *k = kernel_stride_padding_dilation;
    for (int i = 0; i < 4; i++)
        if (k[i] < 0 || k[i] > INT32_MAX) return -1;
    int64_t reach = k[3] * (k[0] - 1) + 1, room = size + 2 * k[2] - reach;
    return size < 1 || room < 0 || k[1] < 1 ? -1 : room / k[1] + 1;
}

static gg__meta convolved(const gg_step *step, gg__meta x) {
    size_t dims = (step->size_count - 2) / 4;
    if (step->size_count < 6 || x.rank != (int32_t)dims + 2 || x.shape[1] != step->sizes[0] || x.shape[0] < 1)
        return gg__unknown;
    x.shape[1] = step->sizes[1];
    for (size_t i = 0; i < dims; i++) {
        int64_t *size = &x.shape[i + 2];
        *size = slid(*size, step->sizes + 2 + 4 * i);
        if (*size < 1) return gg__unknown;
    }
    return x;
}

static bool has_tail(const gg_step *step, gg__meta x) {
    int32_t count = (int32_t)step->size_count, from = x.rank - count;
    for (int32_t i = 0; i < count; i++)
        if (from < 0 || x.shape[from + i] != step->sizes[i]) return false;
    return count > 0;
}

static gg__meta apply(const gg_step *step, gg__meta x) {
    if (!gg__is_floating(x.dtype) || gg__elements(x) < 1) return gg__unknown;
    bool other = !gg_str_equal(step->dtype, x.dtype) || (x.device.len && !gg_str_equal(step->device, x.device));
    if (step->dtype.len && other) return gg__unknown;
    if (step->op == GG_STEP_SAME) return x;
    x.fresh = true;
    x.linear = false;
    int64_t dim = step->size_count ? step->sizes[0] : 0;
    switch (step->op) {
    case GG_STEP_ALONG:
        x = dim >= -x.rank && dim < x.rank ? x : gg__unknown;
        break;
    case GG_STEP_TAIL:
        x = has_tail(step, x) ? x : gg__unknown;
        break;
    case GG_STEP_CONV:
        x = convolved(step, x);
        break;
    case GG_STEP_LINEAR:
        if (step->size_count != 2 || x.rank < 1 || x.shape[x.rank - 1] != dim) return gg__unknown;
        x.shape[x.rank - 1] = step->sizes[1];
        break;
    default:
        return gg__widened(x, step->widens);
    }
    if (x.layout.len) x.layout = GG_STR("?");
    bool product = step->op == GG_STEP_LINEAR || step->op == GG_STEP_CONV;
    if (product && x.vague > GG__LOWERED) return gg__unknown;
    return product ? gg__lowered(x) : gg__widened(x, step->widens);
}

gg__meta gg__module_call(gg__inference *s, TSNode call, bool *known) {
    TSNode arguments = gg__field(call, "arguments");
    const gg_fact *fact = called(s->in, gg__field(call, "function"));
    *known = fact != NULL;
    if (!fact || gg__child_count(arguments) != 1) return gg__unknown;
    gg__meta x = gg__infer_node(s, gg__child(arguments, 0));
    for (size_t i = 0; i < fact->step_count && x.sort == GG__TENSOR; i++) x = apply(&fact->steps[i], x);
    return x.sort == GG__TENSOR ? x : gg__unknown;
}
