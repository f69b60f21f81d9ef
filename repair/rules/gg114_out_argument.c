/* GG114 out-argument: `torch.add(x, w, out=res)` into a tensor that is made empty for it is not traced: it changes its size.
 * Offers: `res = torch.add(x, w)`.  Refuses: where anything has read res in between, another dtype, functions whose dtype is not known, two names.
 * Safety: exact.  Page: docs/rules/GG114.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"

typedef struct writing {
    TSNode call, keyword, out; /* `torch.add(a, b, out=res)`, `out=res`, `res` */
    TSNode statement, made;    /* the call's; `res = torch.empty(0)` */
    TSNode dtype;              /* `x.dtype`, which it is made with */
    uint32_t tensors; /* that the call is given: of others than one, another may have another dtype in another call */
    bool named;       /* the call is a statement: its value gets the name */
    uint32_t uses;    /* of the name, but for its binding and `out=` */
    gg_str name;
    const gg_tree *tree;
} writing;

/* ---- what it gives ------------------------------------------------------------------------------------------------------- */

/* All tensors that it is given are of that dtype. */
static bool is_of(const gg_rule_input *in, TSNode node, gg_str dtype, uint32_t *tensors) {
    static const char *const plain[] = {"integer", "float", "true", "false", "none", "tuple", "unary_operator"};
    bool display = gg_node_is(node, "list") || gg_node_is(node, "tuple"), all = display;
    for (uint32_t i = 0; display && i < gg__child_count(node); i++)
        all = all && is_of(in, gg__child(node, i), dtype, tensors);
    if (display) return all;
    gg__meta m = gg__infer_loosely(in, node);
    if (m.sort != GG__TENSOR)
        return gg__is_number(m) || gg__is_one_of(gg_str_from(ts_node_type(node)), plain, GG_COUNT(plain));
    ++*tensors;
    return gg_str_equal(m.dtype, dtype) && gg__is_floating(dtype) && (!m.vague || m.vague == GG__DEFAULT);
}

/* These functions give what they are given, under autocast too, which leaves alone what is written with out=. */
static bool gives(const gg_rule_input *in, writing *w, gg_str dtype) {
    static const char *const names[] = {"add", "sub",  "mul", "div", "maximum", "minimum", "sin",  "cos",  "tanh",
                                        "abs", "sqrt", "neg", "cat", "stack",   "sigmoid", "mean", "clamp"};
    static const char *const others[] = {"dim", "keepdim", "alpha", "beta", "min", "max"};
    TSNode arguments = gg__field(w->call, "arguments");
    if (!gg__is_one_of(gg__called_name(in->tree, w->call), names, GG_COUNT(names))) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (ts_node_eq(argument, w->keyword)) continue;
        if (gg_node_is(argument, "keyword_argument")) {
            if (!gg__is_one_of(gg__text(in->tree, gg__field(argument, "name")), others, GG_COUNT(others))) return false;
            argument = gg__field(argument, "value");
        }
        if (!is_of(in, argument, dtype, &w->tensors))
            return gg__hinder(in, argument, "is not known to have the dtype of what `out=` names");
    }
    return w->tensors > 0;
}

/* ---- where it goes --------------------------------------------------------------------------------------------------------- */

static bool count_use(TSNode node, void *data) {
    writing *w = data;
    bool same =
        gg_node_is(node, "identifier") && !gg__is_member_name(node) && gg_str_equal(gg__text(w->tree, node), w->name);
    w->uses += same && !ts_node_eq(node, w->out) && !ts_node_eq(gg__parent(gg__parent(node)), w->made);
    return true;
}

/* `torch.empty(0)`, `torch.zeros(0, dtype=x.dtype)` */
static bool is_empty(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    bool like, empty = gg__makes_anew(tree, call, &like) && gg_str_is(gg__text(tree, gg__child(arguments, 0)), "0");
    for (uint32_t i = 1; i < gg__child_count(arguments); i++) {
        gg_str name = gg__text(tree, gg__field(gg__child(arguments, i), "name"));
        empty = empty && (gg_str_is(name, "dtype") || gg_str_is(name, "device"));
    }
    return empty && !like;
}

/* `torch.empty(0, dtype=x.dtype)`, of what the call is given. */
static bool is_of_an_operand(const gg_rule_input *in, writing *w, TSNode made) {
    TSNode arguments = gg__field(w->call, "arguments"), options = gg__field(made, "arguments"),
           list = gg__child(arguments, 0);
    bool lists = gg_node_is(list, "list") || gg_node_is(list, "tuple"); /* torch.cat((x, y)) */
    TSNode operands = lists ? list : arguments;
    for (uint32_t i = 1; i < gg__child_count(options); i++) {
        w->dtype = gg__field(gg__child(options, i), "value");
        bool dtype = gg_str_is(gg__text(in->tree, gg__field(w->dtype, "attribute")), "dtype");
        for (uint32_t j = 0; dtype && j < gg__child_count(operands); j++)
            if (gg_str_equal(gg__text(in->tree, gg__field(w->dtype, "object")),
                             gg__text(in->tree, gg__child(operands, j))))
                return true;
    }
    return false;
}

/* The tensor was made for this alone: in the same block in front, and nobody has read it since. */
static bool is_made_for_it(const gg_rule_input *in, writing *w) {
    const gg_tree *tree = in->tree;
    TSNode value = gg__value_at(tree, w->call, w->name);
    if (ts_node_is_null(value) || !is_empty(tree, value))
        return gg__hinder(in, w->out, "is not known to be made empty in front of it");
    w->made = gg__parent(gg__parent(value));
    if (!ts_node_eq(gg__parent(w->made), gg__parent(w->statement)) || gg__has_comment(tree, gg_node_span(w->made)))
        return gg__hinder(in, w->out, "is made in another block");
    for (TSNode at = gg__next_statement(w->made); !ts_node_is_null(at) && !ts_node_eq(at, w->statement);
         at = gg__next_statement(at))
        if (gg__reads(tree, at, w->name)) return gg__hinder(in, at, "reads what `out=` names before it is written");
    gg__visit(gg__function(w->call), count_use, w);
    TSNode parent = gg__parent(w->call);
    w->named = gg_node_is(parent, "expression_statement");
    bool again = gg_node_is(parent, "assignment") && gg_str_equal(gg__text(tree, gg__field(parent, "left")), w->name);
    if (!w->named && !again && w->uses)
        return gg__hinder(in, w->call, "has two names: that of its value, and that of what `out=` names");
    if (!is_of_an_operand(in, w, value))
        return gg__hinder(in, value, "has its own dtype, whatever is written to it: say `dtype=` of an operand");
    const gg_fact *fact = gg__fact_of(in, w->name);
    return fact && fact->dtype.len && !gg__is_watched(tree, w->statement) && gives(in, w, fact->dtype);
}

static bool find(const gg_rule_input *in, writing *w) {
    static const char *const casts[] = {"autocast"}; /* which leaves alone what is written with out= */
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), arguments = gg__field(call, "arguments");
    *w = (writing){.call = call, .statement = gg__statement(call), .tree = in->tree};
    if (!gg_str_is(in->site->id, "GB0247") || !gg_node_is(call, "call") || !gg__is_torchs(in->tree, call) ||
        !gg_node_is(arguments, "argument_list") || gg__has_word(in->tree, gg_tree_root(in->tree), casts, 1))
        return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        bool keyword = gg_node_is(argument, "keyword_argument");
        if (!keyword && !gg__is_positional(argument)) return false;
        if (keyword && gg_str_is(gg__text(in->tree, gg__field(argument, "name")), "out")) w->keyword = argument;
    }
    w->out = gg__field(w->keyword, "value");
    w->name = gg__text(in->tree, w->out);
    uint32_t last = gg__child_count(arguments);
    if (!gg_node_is(w->out, "identifier") || last < 2 || !ts_node_eq(gg__child(arguments, last - 1), w->keyword) ||
        gg__has_comment(in->tree, gg_node_span(call)) || !gg_node_is(gg__function(call), "function_definition"))
        return false;
    return is_made_for_it(in, w);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    writing w;
    if (!find(in, &w)) return false;
    out->node = w.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    writing w;
    (void)match;
    if (!find(in, &w)) return gg_fail(err, GG_ENOMATCH, "it is written to elsewhere");
    TSNode arguments = gg__field(w.call, "arguments");
    uint32_t start = ts_node_start_byte(w.call), end = ts_node_end_byte(w.call);
    gg_span rest = {ts_node_end_byte(gg__child(arguments, gg__child_count(arguments) - 2)), end};
    if (w.named) gg_edits_add(out, (gg_span){start, start}, gg_arena_printf(arena, "%.*s = ", GG_STR_ARG(w.name)));
    gg_str cast =
        w.tensors > 1 ? gg_arena_printf(arena, ").to(%.*s)", GG_STR_ARG(gg__text(in->tree, w.dtype))) : GG_STR(")");
    gg_edits_add(out, rest, cast);
    gg__delete_statement(in->tree, w.made, out);
    return 0;
}

const gg_rule gg_rule_out_argument = {
    .code = "GG114",
    .name = "out-argument",
    .title = "Take the result instead of naming where it goes",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
