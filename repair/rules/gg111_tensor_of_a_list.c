/* GG111 tensor-of-a-list: `torch.tensor(t.tolist())` takes a tensor's values to Python, and makes a tensor of them again.
 * Offers: a copy of the tensor, of the dtype that the list gives.  Refuses: unless the list goes nowhere else, on the CPU, and of dtypes that the
 * way through Python does not change otherwise.  Safety: exact.  Page: docs/rules/GG111.md */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

typedef struct listing {
    TSNode taken, tensor; /* `t.tolist()`; t */
    TSNode use;           /* torch.tensor(…) */
    gg__meta meta;
    gg_str torch, dtype; /* dtype: that the call says; empty: none */
} listing;

static bool is_dtype_of(gg_str name, bool floating) {
    static const char *const floats[] = {"float32", "float64", "float", "double"}, *const wholes[] = {"int64", "long"};
    return gg__is_one_of(name, floats, GG_COUNT(floats)) ||
           (!floating && gg__is_one_of(name, wholes, GG_COUNT(wholes)));
}

/* `torch.tensor(L)` or `torch.tensor(L, dtype=torch.float32)`, of this first argument. */
static bool is_made_of(const gg_rule_input *in, TSNode list, listing *out) {
    TSNode arguments = gg__parent(list), second = gg__child(arguments, 1), value = gg__field(second, "value");
    out->use = gg__tensor_made_of(in->tree, list);
    TSNode function = gg__field(out->use, "function");
    if (!gg_node_is(function, "attribute") || gg__child_count(arguments) > 2) return false;
    out->torch = gg__text(in->tree, gg__field(function, "object"));
    if (ts_node_is_null(second)) return true;
    out->dtype = gg__text(in->tree, value);
    return gg_node_is(second, "keyword_argument") &&
           gg_str_is(gg__text(in->tree, gg__field(second, "name")), "dtype") && gg_node_is(value, "attribute") &&
           gg_str_equal(gg__text(in->tree, gg__field(value, "object")), out->torch) &&
           is_dtype_of(gg__text(in->tree, gg__field(value, "attribute")), gg__is_floating(out->meta.dtype));
}

typedef struct use_search {
    const gg_rule_input *in;
    listing *l;
    uint32_t count;
} use_search;

static bool is_the_use(TSNode node, void *data) {
    use_search *s = data;
    s->count++;
    return is_made_of(s->in, node, s->l);
}

/* `w = t.tolist()` and, once, in the same block behind it, `torch.tensor(w)`. */
static bool is_named(const gg_rule_input *in, listing *out) {
    TSNode assignment = gg__parent(out->taken), name = gg__field(assignment, "left");
    use_search s = {in, out, 0};
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(name, "identifier") ||
        !ts_node_is_null(gg__field(assignment, "type")) || !ts_node_eq(gg__only_value(in->tree, name), out->taken) ||
        !gg__each_use(in->tree, name, is_the_use, &s))
        return false;
    return s.count == 1 && ts_node_eq(gg__parent(gg__statement(out->use)), gg__parent(gg__statement(assignment))) &&
           ts_node_start_byte(out->use) > ts_node_end_byte(assignment) &&
           ts_node_eq(gg__function(out->use), gg__function(assignment)); /* in no lambda, which may be called again */
}

static bool find(const gg_rule_input *in, listing *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), function = gg__field(call, "function");
    *out = (listing){.taken = call, .tensor = gg__field(function, "object")};
    if (!gg_node_is(call, "call") || !gg_node_is(function, "attribute") ||
        !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "tolist") ||
        gg__child_count(gg__field(call, "arguments")))
        return false;
    out->meta = gg__infer_loosely(in, out->tensor); /* it is evaluated as before */
    gg__meta m = out->meta;
    bool known = gg__is_floating(m.dtype) || gg__is_integer(m.dtype) || gg__is_bool(m.dtype);
    if (m.sort != GG__TENSOR || m.vague || !known || !gg__facts_on_cpu(in)) return false;
    if (m.rank != 1) /* of no rows a list has no columns, and none keeps strides */
        return m.rank > 1 && gg__hinder(in, out->tensor, "has several dimensions, of which a list may lose some");
    if (!is_made_of(in, call, out) && !is_named(in, out)) return false;
    if (out->dtype.len) return true;
    /* of nothing torch makes floating numbers: an argument may have no elements */
    if (!gg__is_floating(m.dtype) && !gg_node_is(gg__strip_parentheses(out->tensor), "call")) return false;
    return gg__has_certain_dtype(in, out->tensor) ||
           gg__hinder(in, out->tensor, "may have another dtype in another call, and so has the tensor of the list");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0109", "GB0033"};
    listing l;
    if (!gg__has_id(in, ids, GG_COUNT(ids)) || !find(in, &l)) return false;
    out->node = l.taken;
    return !gg__has_comment(in->tree, gg_node_span(l.use)) && !gg__has_comment(in->tree, gg_node_span(l.taken));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    listing l;
    (void)match;
    if (!find(in, &l)) return gg_fail(err, GG_ENOMATCH, "the list goes elsewhere");
    gg_str dtype = l.dtype;
    bool floating = gg__is_floating(l.meta.dtype);
    if (dtype.len == 0)
        dtype = gg_arena_printf(arena, "%.*s.%s", GG_STR_ARG(l.torch),
                                floating                    ? "get_default_dtype()"
                                : gg__is_bool(l.meta.dtype) ? "bool"
                                                            : "int64");
    bool named = !ts_node_eq(gg__parent(gg__parent(l.taken)), l.use);
    gg_str text = gg_arena_printf(arena, "%.*s.detach().to(\"cpu\", %.*s, copy=True)",
                                  GG_STR_ARG(gg__operand_text(in, l.tensor, arena)), GG_STR_ARG(dtype));
    gg_edits_add(out, gg_node_span(named ? l.taken : l.use), text);
    if (named) gg_edits_add(out, gg_node_span(l.use), gg__text(in->tree, gg__child(gg__field(l.use, "arguments"), 0)));
    return 0;
}

const gg_rule gg_rule_tensor_of_a_list = {
    .code = "GG111",
    .name = "tensor-of-a-list",
    .title = "Copy the tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
