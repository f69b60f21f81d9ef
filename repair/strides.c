/* How tensors lie in memory.  See strides.h. */
#include "repair/strides.h"

#include "repair/alias.h"
#include "repair/built.h"
#include "repair/infer.h"

enum { MAX_DEPTH = 16, MAX_TIED = 32 };

/* ---- how they lie -------------------------------------------------------------------------------------------------------- */

static gg__lying lies(const gg_rule_input *in, TSNode node, uint32_t depth);

static gg__lying worse(gg__lying a, gg__lying b) {
    return a < b ? a : b;
}

/* What elements are computed to has no gaps, and lies as the operands do. */
static gg__lying computed(gg__lying operands) {
    return operands == GG__IN_ORDER ? GG__IN_ORDER : GG__DENSE;
}

static gg__lying of_attribute(const gg_rule_input *in, TSNode node) {
    const gg_fact *fact = gg__fact_of(in, gg__text(in->tree, node));
    bool own = gg_str_is(gg__text(in->tree, gg__field(node, "object")), "self");
    if (!fact || fact->kind != GG_VALUE_TENSOR || !own || !gg__is_set_up_once(in->tree, node)) return GG__ANYHOW;
    if (fact->layout == GG_LAYOUT_STRIDED) return GG__ANYHOW;
    return fact->layout == GG_LAYOUT_DENSE ? GG__DENSE : GG__IN_ORDER;
}

static gg__lying of_arguments(const gg_rule_input *in, TSNode arguments, uint32_t depth) {
    gg__lying all = GG__IN_ORDER;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        if (gg__infer_loosely(in, argument).sort == GG__TENSOR) all = worse(all, lies(in, argument, depth + 1));
    }
    return all;
}

/* A matrix by a batch of matrices is computed turned round. */
static gg__lying of_product(const gg_rule_input *in, TSNode left, TSNode right) {
    gg__meta a = gg__infer_loosely(in, left), b = gg__infer_loosely(in, right);
    bool known = a.sort == GG__TENSOR && b.sort == GG__TENSOR;
    return known && a.rank >= b.rank ? GG__IN_ORDER : GG__ANYHOW;
}

static gg__lying of_call(const gg_rule_input *in, TSNode node, uint32_t depth) {
    static const char *const ordered[] = {"contiguous", "mm",   "bmm",  "stack", "linear", "masked_fill", "zeros",
                                          "ones",       "full", "rand", "randn", "arange", "empty",       "embedding"},
                             *const views[] = {"view", "reshape", "flatten", "unsqueeze", "squeeze"},
                             *const turned[] = {"transpose", "permute", "t", "expand",   "chunk",  "split",
                                                "unbind",    "mT",      "T", "swapaxes", "narrow", "select"},
                             *const kept[] = {"detach", "to", "float", "half", "double", "type", "requires_grad_"};
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    const gg_fact *fact = gg__fact_of(in, gg__text(tree, function));
    if (fact && fact->kind == GG_VALUE_MODULE) {
        bool linear = fact->step_count && fact->steps[fact->step_count - 1].op == GG_STEP_LINEAR;
        return linear ? GG__IN_ORDER : fact->step_count ? computed(of_arguments(in, arguments, depth)) : GG__ANYHOW;
    }
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return GG__ANYHOW;
    gg__inference s = {.in = in};
    gg__call call = gg__read_call(&s, node);
    TSNode x = call.from ? gg__child(arguments, 0) : gg__field(function, "object");
    if (gg__is_one_of(call.name, ordered, GG_COUNT(ordered))) return GG__IN_ORDER;
    if (gg__is_one_of(call.name, turned, GG_COUNT(turned))) return GG__ANYHOW;
    if (gg_str_is(call.name, "matmul")) return of_product(in, x, gg__child(arguments, call.from));
    gg__lying own = lies(in, x, depth + 1);
    if (gg__is_one_of(call.name, views, GG_COUNT(views))) return own == GG__IN_ORDER ? own : GG__ANYHOW;
    if (gg__is_one_of(call.name, kept, GG_COUNT(kept))) return own;
    if (!gg__infer_loosely(in, node).fresh && !gg__makes_new(in, node)) return GG__ANYHOW;
    return computed(worse(own, of_arguments(in, arguments, depth)));
}

static gg__lying lies(const gg_rule_input *in, TSNode node, uint32_t depth) {
    const gg_tree *tree = in->tree;
    node = gg__strip_parentheses(node);
    if (depth > MAX_DEPTH || ts_node_is_null(node)) return GG__ANYHOW;
    if (gg_node_is(node, "identifier")) {
        TSNode value = gg__value_at(tree, node, gg__text(tree, node));
        if (!ts_node_is_null(value)) return lies(in, value, depth + 1);
        return gg__is_number(gg__infer(in, node)) ? GG__IN_ORDER : GG__ANYHOW;
    }
    if (gg_node_is(node, "integer") || gg_node_is(node, "float")) return GG__IN_ORDER;
    if (gg_node_is(node, "attribute"))
        return gg__is_number(gg__infer(in, node)) ? GG__IN_ORDER : of_attribute(in, node);
    if (gg_node_is(node, "call")) return of_call(in, node, depth);
    if (gg_node_is(node, "unary_operator")) return computed(lies(in, gg__field(node, "argument"), depth + 1));
    if (gg_node_is(node, "binary_operator")) {
        bool product = gg_str_is(gg__text(tree, gg__field(node, "operator")), "@");
        TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
        return product ? of_product(in, left, right)
                       : computed(worse(lies(in, left, depth + 1), lies(in, right, depth + 1)));
    }
    return GG__ANYHOW;
}

gg__lying gg__lies(const gg_rule_input *in, TSNode node) {
    return lies(in, node, 0);
}

/* ---- what tells ---------------------------------------------------------------------------------------------------------------- */

typedef struct telling {
    const gg_rule_input *in;
    gg_str names[MAX_TIED];
    size_t count;
    bool changes; /* something is changed in place in the function */
    bool errors;
} telling;

static bool is_tied(const telling *t, TSNode node) {
    gg_str name = gg__text(t->in->tree, node);
    for (size_t i = 0; gg_node_is(node, "identifier") && !gg__is_member_name(node) && i < t->count; i++)
        if (gg_str_equal(t->names[i], name)) return true;
    return false;
}

static bool reads_none(TSNode node, void *data) {
    return !is_tied(data, node);
}

static bool add_name(TSNode node, void *data) {
    telling *t = data;
    if (gg_node_is(node, "identifier") && !gg__is_member_name(node) && !is_tied(t, node) && t->count < MAX_TIED)
        t->names[t->count++] = gg__text(t->in->tree, node);
    return true;
}

/* What is made of it may lie as it does. */
static bool tie(TSNode node, void *data) {
    telling *t = data;
    TSNode right = gg__field(node, "right");
    if (gg_node_is(node, "assignment") && !ts_node_is_null(right) && !gg__visit(right, reads_none, t))
        gg__visit(gg__field(node, "left"), add_name, t);
    return true;
}

static bool tells(const telling *t, gg_str name) {
    static const char *const always[] = {"stride",          "is_contiguous", "as_strided",     "data_ptr",
                                         "untyped_storage", "storage",       "storage_offset", "numpy"},
                             *const changed[] = {"reshape", "flatten", "ravel", "contiguous"};
    if (gg_str_is(name, "view")) return t->errors;
    return gg__is_one_of(name, always, GG_COUNT(always)) ||
           (t->changes && gg__is_one_of(name, changed, GG_COUNT(changed)));
}

static bool does_not_tell(TSNode node, void *data) {
    const telling *t = data;
    return !gg_node_is(node, "attribute") || !tells(t, gg__text(t->in->tree, gg__field(node, "attribute"))) ||
           gg__visit(gg__field(node, "object"), reads_none, data);
}

static telling new_telling(const gg_rule_input *in, TSNode function, bool errors) {
    return (telling){.in = in, .changes = !gg__each_change(in, function, 0, gg__stop, NULL), .errors = errors};
}

bool gg__strides_of_show(const gg_rule_input *in, TSNode function, gg_str name, bool errors) {
    telling t = new_telling(in, function, errors);
    if (name.len == 0) return false;
    t.names[t.count++] = name;
    for (size_t before = 0; before != t.count;) {
        before = t.count;
        gg__visit(function, tie, &t);
    }
    return t.count == MAX_TIED || !gg__visit(function, does_not_tell, &t);
}

bool gg__strides_show(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__function(node), statement = gg__statement(node), child = node;
    telling t = new_telling(in, function, true);
    for (TSNode at = gg__parent(node); !ts_node_is_null(at) && !ts_node_eq(at, statement);
         child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "attribute") && ts_node_eq(gg__field(at, "object"), child) &&
            tells(&t, gg__text(in->tree, gg__field(at, "attribute"))))
            return true;
        TSNode left = gg__field(at, "left");
        bool named = gg_node_is(at, "assignment") && gg_node_is(left, "identifier");
        if (named && gg__strides_of_show(in, function, gg__text(in->tree, left), true)) return true;
    }
    return false;
}
