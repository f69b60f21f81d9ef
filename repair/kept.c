/* What autograd may have kept of a tensor that is stored to.  See kept.h. */
#include "repair/kept.h"
#include "repair/alias.h"
#include "repair/infer.h"

bool gg__without_gradients(const gg_tree *tree, TSNode node) {
    gg_str torch = gg__module_alias(tree, node, "torch");
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at)) {
        TSNode outer = gg__parent(at);
        bool with = gg_node_is(at, "with_statement");
        if (!with && !(gg_node_is(at, "function_definition") && gg_node_is(outer, "decorated_definition"))) continue;
        TSNode clause = with ? gg__child(at, 0) : outer;
        for (uint32_t i = 0; i < gg__child_count(clause); i++) {
            gg_str text = gg__text(tree, gg__child(clause, i));
            if (text.len && text.ptr[0] == '@') text = gg_str_slice(text, 1, text.len);
            if (torch.len && gg_str_starts_with(text, torch) &&
                gg_str_is(gg_str_slice(text, torch.len, text.len), ".no_grad()"))
                return true;
        }
        if (!with) return false;
    }
    return false;
}

/* ---- one reader ----------------------------------------------------------------------------------------------------------------- */

#define IS_ONE(name, words) gg__is_one_of(name, words, GG_COUNT(words))

static bool is_number(const gg_rule_input *in, TSNode node) {
    return gg_node_is(node, "none") || gg__is_number(gg__infer(in, node));
}

/* Only numbers beside the operand at `but`. */
static bool only_numbers(const gg_rule_input *in, TSNode arguments, TSNode but) {
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (ts_node_eq(argument, but)) continue;
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        if (!is_number(in, argument)) return false;
    }
    return true;
}

/* `t.name(…)` */
static bool method_keeps(const gg_rule_input *in, TSNode call, gg_str name, bool own) {
    static const char *const views[] = {"detach",  "view",      "reshape",    "expand", "expand_as", "unsqueeze",
                                        "squeeze", "transpose", "contiguous", "t",      "permute",   "flatten",
                                        "to",      "float",     "double",     "type_as"};
    static const char *const fresh[] = {"size",     "dim",       "numel",    "item",     "tolist",   "stride",
                                        "clone",    "isnan",     "isinf",    "any",      "all",      "argmax",
                                        "argmin",   "isfinite",  "sum",      "mean",     "add",      "sub",
                                        "new_ones", "new_zeros", "new_full", "nelement", "data_ptr", "masked_fill"};
    static const char *const plain[] = {"copy_", "zero_", "fill_",       "add_",   "sub_",
                                        "neg_",  "abs_",  "nan_to_num_", "round_", "masked_fill_"};
    static const char *const by_numbers[] = {"mul_", "div_", "clamp_", "clamp_min_", "clamp_max_"};
    TSNode arguments = gg__field(call, "arguments"), nobody = {0};
    bool numbers = only_numbers(in, arguments, nobody), free = gg__without_gradients(in->tree, call);
    if (IS_ONE(name, views)) return gg__is_kept(in, call, own);
    if (IS_ONE(name, fresh)) return false;
    if (gg_str_ends_with(name,
                         GG_STR("_"))) { /* it requires no gradient, or has one then, and gives the tensor itself */
        bool lerps = gg_str_is(name, "lerp_") && only_numbers(in, arguments, gg__child(arguments, 0));
        bool fine = free || !own || lerps || IS_ONE(name, plain) || (IS_ONE(name, by_numbers) && numbers);
        return !fine || gg__is_kept(in, call, own);
    }
    bool computes = gg__is_operation(in, call) || gg_str_is(name, "norm") || gg_str_is(name, "lerp");
    return !computes || !(free || (numbers && (!own || gg_str_is(name, "mul") || gg_str_is(name, "neg"))));
}

/* `f(…, t, …)` */
static bool call_keeps(const gg_rule_input *in, TSNode call, TSNode operand, bool own) {
    static const char *const asking[] = {"isnan", "isinf", "isfinite", "zeros_like", "ones_like", "empty_like",
                                         "any",   "all",   "add",      "sub",        "full_like", "equal",
                                         "sum",   "mean",  "clone",    "is_nonzero"};
    static const char *const combining[] = {"add", "sub", "add_", "sub_", "copy_"};
    static const char *const builtins[] = {"float", "int", "bool", "len", "print", "isinstance", "str", "type"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    gg_str torch = gg__module_alias(in->tree, call, "torch");
    bool torchs = torch.len && gg_str_equal(gg__text(in->tree, object), torch);
    for (size_t i = 0; i < GG_COUNT(builtins); i++)
        if (gg__names_builtin(in->tree, function, builtins[i])) return false;
    if (!gg_node_is(arguments, "argument_list") || gg_node_is(operand, "keyword_argument")) return true;
    if (!torchs) return gg__infer(in, object).sort != GG__TENSOR || !IS_ONE(name, combining);
    if (IS_ONE(name, asking)) return false;
    bool free = gg__without_gradients(in->tree, call);
    if (gg_str_is(name, "where")) return !free && ts_node_eq(gg__child(arguments, 0), operand);
    return !gg__is_operation(in, call) || !(free || (!own && only_numbers(in, arguments, operand)));
}

static bool operator_keeps(const gg_rule_input *in, TSNode parent, TSNode node, bool own) {
    gg_str op = gg__text(in->tree, gg__field(parent, "operator"));
    TSNode left = gg__field(parent, "left"), right = gg__field(parent, "right");
    bool first = ts_node_eq(left, node);
    if (gg_node_is(parent, "augmented_assignment") && !first && gg__infer(in, left).sort != GG__TENSOR)
        return true; /* a list takes its rows */
    if (gg__without_gradients(in->tree, parent) || gg_str_starts_with(op, GG_STR("+")) ||
        gg_str_starts_with(op, GG_STR("-")))
        return false;
    if (!is_number(in, first ? right : left)) return true;
    bool product = gg_str_starts_with(op, GG_STR("*")) && !gg_str_starts_with(op, GG_STR("**"));
    return own && !product && !(gg_str_starts_with(op, GG_STR("/")) && first && !gg_str_starts_with(op, GG_STR("//")));
}

static bool assignment_keeps(const gg_rule_input *in, TSNode assignment, TSNode node) {
    TSNode left = gg__field(assignment, "left");
    if (ts_node_eq(left, node)) return false;
    bool copied = gg_node_is(left, "subscript") && gg__infer(in, gg__field(left, "value")).sort == GG__TENSOR;
    return !copied || !gg_node_is(gg__parent(assignment), "expression_statement");
}

bool gg__is_kept(const gg_rule_input *in, TSNode node, bool own) {
    static const char *const about[] = {"shape", "dtype", "device", "ndim", "is_cuda", "requires_grad", "data"};
    static const char *const asking[] = {"comparison_operator", "not_operator", "expression_statement",
                                         "if_statement",        "elif_clause",  "while_statement"};
    TSNode parent = gg__parent(node);
    for (; gg_node_is(parent, "parenthesized_expression"); parent = gg__parent(parent)) node = parent;
    for (size_t i = 0; i < GG_COUNT(asking); i++)
        if (gg_node_is(parent, asking[i])) return false;
    if (gg_node_is(parent, "binary_operator") || gg_node_is(parent, "augmented_assignment"))
        return operator_keeps(in, parent, node, own);
    if (gg_node_is(parent, "assignment")) return assignment_keeps(in, parent, node);
    if (gg_node_is(parent, "unary_operator"))
        return gg_str_is(gg__text(in->tree, gg__field(parent, "operator")), "+") && gg__is_kept(in, parent, own);
    if (gg_node_is(parent, "subscript"))
        return !ts_node_eq(gg__field(parent, "value"), node) || gg__is_kept(in, parent, own);
    if (gg_node_is(parent, "boolean_operator")) return gg__is_kept(in, parent, own);
    if (gg_node_is(parent, "attribute")) {
        gg_str name = gg__text(in->tree, gg__field(parent, "attribute"));
        TSNode call = gg__parent(parent);
        bool called = gg_node_is(call, "call") && ts_node_eq(gg__field(call, "function"), parent);
        return called ? method_keeps(in, call, name, own) : !IS_ONE(name, about);
    }
    return !gg_node_is(parent, "argument_list") || call_keeps(in, gg__parent(parent), node, own);
}

/* ---- gradients of what is stored ------------------------------------------------------------------------------------------------- */

typedef struct stores {
    const gg_tree *tree;
    gg_str name;
} stores;

static bool is_no_store(TSNode node, void *data) {
    const stores *s = data;
    return !gg_node_is(node, "expression_statement") ||
           !gg_str_equal(gg__text(s->tree, gg__stored_base(s->tree, node)), s->name);
}

/* `m = x.detach().mean(0)`, `lo, hi = x.min().detach(), x.max().detach()`, and nothing is stored to it. */
static bool holds_detached(const gg__select *s, const gg__arm *arm, TSNode name, TSNode place) {
    stores stored = {s->in->tree, gg__text(s->in->tree, name)};
    TSNode value = gg__value_among(stored.tree, name, stored.name);
    if (ts_node_is_null(value) || !gg__visit(gg__function(name), is_no_store, &stored)) return false;
    if (gg__without_gradients(stored.tree, value)) return gg__makes_new(s->in, value);
    return gg__is_detached(s, arm, value, place);
}

bool gg__is_detached(const gg__select *s, const gg__arm *arm, TSNode node, TSNode place) {
    const gg_tree *tree = s->in->tree;
    if (ts_node_is_null(node) || gg__without_gradients(tree, node)) return true;
    node = gg__strip_parentheses(node);
    gg__meta m = gg__infer_in(s, arm, node);
    if (m.sort != GG__UNKNOWN && (m.sort != GG__TENSOR || !gg__is_floating(m.dtype))) return true;
    if (gg_str_equal(gg__text(tree, node), gg__text(tree, place))) return true;
    if (gg_node_is(node, "identifier")) return holds_detached(s, arm, node, place);
    if (gg_node_is(node, "unary_operator")) return gg__is_detached(s, arm, gg__field(node, "argument"), place);
    if (gg_node_is(node, "subscript")) return gg__is_detached(s, arm, gg__field(node, "value"), place);
    if (gg_node_is(node, "binary_operator"))
        return gg__is_detached(s, arm, gg__field(node, "left"), place) &&
               gg__is_detached(s, arm, gg__field(node, "right"), place);
    TSNode function = gg__field(node, "function"), object = gg__field(function, "object");
    if (!gg_node_is(node, "call") || !gg_node_is(function, "attribute")) return false;
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (gg_str_is(name, "detach") && gg__child_count(gg__field(node, "arguments")) == 0) return true;
    TSNode arguments = gg__field(node, "arguments");
    bool torchs = gg_str_equal(gg__text(tree, object), gg__module_alias(tree, node, "torch"));
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        if (!is_number(s->in, argument) && !gg__is_detached(s, arm, argument, place)) return false;
    }
    return torchs || gg__is_detached(s, arm, object, place);
}

/* ---- attributes ------------------------------------------------------------------------------------------------------------------- */

typedef struct readers {
    const gg_rule_input *in;
    gg_rule_input blind; /* without facts: of other functions */
    TSNode function, statement;
    gg_str name, text;
    gg_span inside; /* where names are looked at */
} readers;

/* In a condition nothing is kept; and stores to attributes have nothing to do with gradients. */
static bool is_exempt(const readers *r, TSNode node) {
    gg_span own = gg_node_span(r->statement);
    uint32_t at = ts_node_start_byte(node);
    if (at < own.start || at >= own.end) return false;
    if (gg_node_is(gg__stored_base(r->in->tree, gg__statement(node)), "attribute")) return true;
    for (TSNode up = node, above = gg__parent(up); !gg_node_is(above, "block"); up = above, above = gg__parent(up)) {
        if (gg_node_is(above, "elif_clause")) return ts_node_eq(gg__field(above, "condition"), up);
        if (gg_node_is(above, "if_statement")) return ts_node_eq(gg__field(above, "condition"), up);
    }
    return false;
}

/* `self.t = v`: a tensor that nobody else keeps: in __init__() what a call makes, elsewhere what is made without gradients. */
static bool is_bound_well(const readers *r, TSNode node) {
    TSNode assignment = gg__parent(node), value = gg__strip_parentheses(gg__field(assignment, "right"));
    const gg_tree *tree = r->in->tree;
    bool like, first = gg_str_is(gg__text(tree, gg__field(gg__function(node), "name")), "__init__");
    if (!gg_node_is(assignment, "assignment") || !ts_node_eq(gg__field(assignment, "left"), node))
        return gg_node_is(assignment, "augmented_assignment") || !gg__is_binding(gg__field(node, "object"));
    if (gg_node_is(value, "none") || gg__makes_anew(tree, value, &like)) return true;
    if (first) return gg_node_is(value, "call") && !gg_str_contains(gg__text(tree, value), GG_STR("Parameter"));
    return gg__without_gradients(tree, value) && gg__makes_new(r->in, value);
}

static bool does_not_keep_attribute(TSNode node, void *data) {
    const readers *r = data;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(r->in->tree, gg__field(node, "attribute")), r->name) ||
        is_exempt(r, node))
        return true;
    if (!is_bound_well(r, node)) return false;
    bool here = ts_node_eq(gg__function(node), r->function) && gg_str_equal(gg__text(r->in->tree, node), r->text);
    return !gg__is_kept(here ? r->in : &r->blind, node, false);
}

bool gg__may_change_attribute(const gg_rule_input *in, TSNode statement, TSNode attribute) {
    gg_site nowhere;
    readers r = {.in = in, .function = gg__function(statement), .statement = statement};
    r.blind = gg__blind(in, &nowhere);
    r.text = gg__text(in->tree, attribute);
    r.name = gg__text(in->tree, gg__field(attribute, "attribute"));
    const gg_fact *fact = gg__fact_of(in, r.text);
    /* a parameter is kept by whom it is used; one that is expanded cannot be stored to */
    if (!fact || fact->requires_grad || fact->layout == GG_LAYOUT_STRIDED ||
        !gg_str_starts_with(r.text, GG_STR("self.")))
        return false;
    return gg__visit(gg_tree_root(in->tree), does_not_keep_attribute, &r);
}

static bool is_no_other_holder(TSNode node, void *data) {
    const readers *r = data;
    uint32_t at = ts_node_start_byte(node);
    if (at < r->inside.start || at >= r->inside.end) return true;
    gg_str text = gg__text(r->in->tree, node);
    if (gg_node_is(node, "call")) { /* self.keep() */
        gg_str called = gg__text(r->in->tree, gg__field(node, "function"));
        return !gg_str_starts_with(called, GG_STR("self."));
    }
    if (gg_node_is(node, "identifier") && gg_str_is(text, "self")) return gg_node_is(gg__parent(node), "attribute");
    return !gg_node_is(node, "attribute") || !gg_str_equal(text, r->text) || gg__is_consumed(r->in, node);
}

bool gg__is_made_before(const gg_rule_input *in, TSNode statement, TSNode attribute) {
    readers r = {.in = in, .statement = statement, .text = gg__text(in->tree, attribute)};
    for (TSNode at = ts_node_prev_named_sibling(statement); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
        TSNode e = gg__child(at, 0), value = gg__strip_parentheses(gg__field(e, "right"));
        bool found = gg_node_is(e, "assignment") && gg_str_equal(gg__text(in->tree, gg__field(e, "left")), r.text);
        if (!found) continue;
        TSNode function = gg__field(value, "function");
        if (gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "detach"))
            value = gg__field(function, "object");
        r.inside = (gg_span){ts_node_end_byte(at), ts_node_start_byte(statement)};
        return gg__makes_new(in, value) && gg__visit(gg__function(statement), is_no_other_holder, &r);
    }
    return false;
}

/* ---- local names -------------------------------------------------------------------------------------------------------------------- */

/* Does the expression make a tensor of elements that nobody keeps for a gradient? */
static bool is_harmless_maker(const gg_rule_input *in, TSNode value) {
    value = gg__strip_parentheses(value);
    if (gg_str_contains(gg__text(in->tree, value), GG_STR("requires_grad"))) return false;
    return gg__forgets_result(in, value) ||
           (gg_node_is(value, "call") && gg__without_gradients(in->tree, value) && gg__makes_new(in, value));
}

static bool does_not_keep_name(TSNode node, void *data) {
    const readers *r = data;
    uint32_t at = ts_node_start_byte(node);
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || at < r->inside.start || at >= r->inside.end ||
        !gg_str_equal(gg__text(r->in->tree, node), r->name))
        return true;
    if (!ts_node_eq(gg__function(node), r->function)) return false;
    return is_exempt(r, node) || !gg__is_kept(r->in, node, true);
}

/* `t.zero_()`, a statement on all ways in front of it, which tells that it may be changed in place: the statement's end; 0 when there is none. */
static uint32_t changed_before(const gg_rule_input *in, TSNode statement, TSNode name) {
    TSNode function = gg__function(statement);
    gg_str text = gg__text(in->tree, name);
    if (gg__binds(in->tree, gg__field(function, "body"), text)) return 0;
    for (TSNode at = statement; !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode base = gg__stored_base(in->tree, before);
            if (!gg_node_is(base, "identifier") || !gg_str_equal(gg__text(in->tree, base), text)) continue;
            if (gg_node_is(gg__parent(base), "subscript")) continue; /* a row of what is expanded may be changed */
            bool safe = gg__without_gradients(in->tree, before) || !gg__is_kept(in, base, true);
            return safe ? ts_node_end_byte(before) : 0;
        }
    return 0;
}

static bool has_text(const gg_tree *tree, TSNode node, const char *text) {
    return gg_str_contains(gg__text(tree, node), gg_str_from(text));
}

bool gg__may_change_local(const gg_rule_input *in, TSNode statement, TSNode name) {
    const gg_tree *tree = in->tree;
    readers r = {.in = in, .function = gg__function(statement), .statement = statement, .name = gg__text(tree, name)};
    TSNode value = gg__only_value(tree, name);
    if (ts_node_is_null(value)) value = gg__value_at(tree, statement, r.name);
    if (!gg_node_is(r.function, "function_definition") || has_text(tree, r.function, "enable_grad") ||
        has_text(tree, r.function, "inference_mode") || has_text(tree, r.function, "set_grad_enabled"))
        return false;
    r.inside = (gg_span){0, ts_node_end_byte(statement)};
    if (ts_node_is_null(value)) {
        r.inside.start = changed_before(in, statement, name);
        if (r.inside.start == 0) return false;
    } else {
        TSNode block = gg__parent(gg__statement(value));
        r.inside.start = ts_node_end_byte(value);
        bool around = ts_node_start_byte(block) <= ts_node_start_byte(statement) &&
                      ts_node_end_byte(block) >= ts_node_end_byte(statement);
        if (!around || r.inside.start > ts_node_start_byte(statement) || !is_harmless_maker(in, value)) return false;
    }
    for (TSNode at = statement; !ts_node_is_null(at) && !ts_node_eq(at, r.function); at = gg__parent(at)) {
        bool loop = gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement");
        if (loop && ts_node_start_byte(at) >= r.inside.start) r.inside.end = ts_node_end_byte(at);
    }
    return gg__visit(r.function, does_not_keep_name, &r);
}

bool gg__may_change_made(const gg_rule_input *in, TSNode statement, TSNode name, TSNode made) {
    readers r = {.in = in, .function = gg__function(statement), .statement = statement};
    r.name = gg__text(in->tree, name);
    r.inside = (gg_span){ts_node_end_byte(made), ts_node_end_byte(statement)};
    return is_harmless_maker(in, made) && gg__visit(r.function, does_not_keep_name, &r);
}
