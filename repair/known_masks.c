/* A mask of which a condition tells that all of its elements are alike, and what is made of it then.  See known_masks.h. */
#include "repair/known_masks.h"

#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"

enum { MAX_DEPTH = 20 };

bool gg__is_known_mask(const gg__known_mask *s, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "identifier") && gg_str_equal(gg__text(s->in->tree, node), s->text);
}

static bool is_bool(const gg__known_mask *s, TSNode node) {
    gg__meta m = gg__infer(&s->then.in, node);
    return m.sort == GG__TENSOR && gg__is_bool(m.dtype);
}

/* ---- the condition ------------------------------------------------------------------------------------------------------ */

TSNode gg__asked_of(const gg_tree *tree, TSNode call, const char *what) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    TSNode object = gg__field(function, "object"), none = {0};
    if (!gg_node_is(call, "call") || !gg_str_is(gg__text(tree, gg__field(function, "attribute")), what)) return none;
    bool torchs = gg_str_equal(gg__text(tree, object), gg__module_alias(tree, call, "torch"));
    if (gg__child_count(arguments) != (torchs ? 1u : 0u)) return none;
    return gg__strip_parentheses(torchs ? gg__child(arguments, 0) : object);
}

/* … also with `.item()` behind it, or inside of bool(). */
static TSNode asked(const gg__known_mask *s, TSNode call, const char *what) {
    gg__extraction e;
    TSNode none = {0};
    call = gg__strip_parentheses(call);
    TSNode x = gg__asked_of(s->in->tree, call, what);
    if (!ts_node_is_null(x)) return x;
    if (!gg_node_is(call, "call") || !gg__match_extraction(s->in, call, &e) || e.truncates || e.cuts) return none;
    TSNode inner = gg__strip_parentheses(e.value);
    return gg_node_is(inner, "call") && !ts_node_eq(inner, call) ? asked(s, inner, what) : none;
}

/* Which value all elements have when each one is zero, or is true. */
static bool value_of(gg__known_mask *s, TSNode x, bool zero) {
    gg__meta m = gg__infer(s->in, x);
    if (m.sort != GG__TENSOR) return false;
    if (gg__is_known_mask(s, x)) {
        s->value = zero ? 0 : 1;
        return zero || gg__is_bool(m.dtype);
    }
    if (gg_node_is(x, "unary_operator") && gg_str_is(gg__text(s->in->tree, gg__field(x, "operator")), "~")) {
        s->value = zero ? 1 : 0;
        return gg__is_known_mask(s, gg__field(x, "argument")) && gg__is_bool(m.dtype);
    }
    double number;
    if (zero || !gg_node_is(x, "comparison_operator") || gg__child_count(x) != 2 ||
        !gg__is_known_mask(s, gg__child(x, 0)) || !gg_str_is(gg__text(s->in->tree, ts_node_child(x, 1)), "==") ||
        !gg__literal_value(s->in->tree, gg__child(x, 1), &number))
        return false;
    s->value = number;
    return number == 0 || number == 1;
}

/* `not mask.any()`, `mask.all()`, `mask.sum() == 0` */
bool gg__read_mask_test(gg__known_mask *s, TSNode test) {
    test = gg__strip_parentheses(test);
    if (gg_node_is(test, "not_operator")) {
        TSNode x = asked(s, gg__field(test, "argument"), "any");
        return !ts_node_is_null(x) && value_of(s, x, true);
    }
    if (gg_node_is(test, "comparison_operator") && gg__child_count(test) == 2) {
        TSNode x = asked(s, gg__child(test, 0), "sum");
        return !ts_node_is_null(x) && gg__is_known_mask(s, x) && is_bool(s, x) &&
               gg_str_is(gg__text(s->in->tree, ts_node_child(test, 1)), "==") &&
               gg_str_is(gg__text(s->in->tree, gg__child(test, 1)), "0") && value_of(s, x, true);
    }
    TSNode x = asked(s, test, "all");
    return !ts_node_is_null(x) && value_of(s, x, false);
}

static bool defaults_to_none(const gg__known_mask *s, TSNode statement) {
    TSNode parameters = gg__field(gg__function(statement), "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode parameter = gg__child(parameters, i);
        if (gg_str_equal(gg__text(s->in->tree, gg__field(parameter, "name")), s->text) &&
            gg_node_is(gg__field(parameter, "value"), "none"))
            return true;
    }
    return false;
}

/* `mask is None`, `mask is not None` */
static bool asks_for_none(const gg__known_mask *s, TSNode condition, const char *op) {
    condition = gg__strip_parentheses(condition);
    return gg_node_is(condition, "comparison_operator") && ts_node_child_count(condition) == 3 &&
           gg__is_known_mask(s, ts_node_child(condition, 0)) && gg_node_is(ts_node_child(condition, 2), "none") &&
           gg_str_is(gg__text(s->in->tree, ts_node_child(condition, 1)), op);
}

static bool leaves(TSNode block) {
    static const char *const exits[] = {"return_statement", "raise_statement"};
    return gg__ends_with(block, exits, GG_COUNT(exits));
}

/* Somebody asked for None before, and went another way then. */
static bool is_handled_above(const gg__known_mask *s, TSNode statement) {
    const gg_tree *tree = s->in->tree;
    for (TSNode at = statement; !ts_node_is_null(at) && !gg_node_is(at, "function_definition");) {
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            if (gg__binds(tree, before, s->text)) return false;
            bool asks = gg_node_is(before, "if_statement") && asks_for_none(s, gg__field(before, "condition"), "is");
            if (asks && leaves(gg__field(before, "consequence"))) return true;
        }
        TSNode block = gg__parent(at), around = gg__parent(block);
        bool other = gg_node_is(around, "elif_clause") || gg_node_is(around, "else_clause");
        TSNode whole = other ? gg__parent(around) : around;
        if (gg_node_is(whole, "function_definition")) return false;
        if (!gg_node_is(whole, "if_statement")) return false;
        if (!other && asks_for_none(s, gg__field(whole, "condition"), "is not")) return true;
        if (other && asks_for_none(s, gg__field(whole, "condition"), "is")) return true;
        at = whole;
    }
    return false;
}

/* Asking None would have been an error: the name certainly holds a tensor, as far as the function tells. */
bool gg__mask_is_never_none(const gg__known_mask *s, TSNode statement) {
    TSNode function = gg__function(statement), parameters = gg__field(function, "parameters");
    TSNode value = gg__value_at(s->in->tree, statement, s->text);
    if (!ts_node_is_null(value)) return gg__infer(s->in, value).sort == GG__TENSOR;
    return gg__binds(s->in->tree, parameters, s->text) &&
           (!defaults_to_none(s, statement) || is_handled_above(s, statement));
}

/* ---- what is made of the mask -------------------------------------------------------------------------------------------- */

static bool literal(const gg__known_mask *s, TSNode node, double *out) {
    return gg__literal_value(s->in->tree, gg__strip_parentheses(node), out);
}

/* `mask == 0` */
static bool compared(const gg__known_mask *s, TSNode node, uint32_t depth, double *out) {
    double x, number;
    if (gg__child_count(node) != 2 || !gg__mask_constant(s, gg__child(node, 0), depth, &x) ||
        !literal(s, gg__child(node, 1), &number))
        return false;
    gg_str op = gg__text(s->in->tree, ts_node_child(node, 1));
    if (gg_str_is(op, "=="))
        *out = x == number;
    else if (gg_str_is(op, "!="))
        *out = x != number;
    else if (gg_str_is(op, "<"))
        *out = x < number;
    else if (gg_str_is(op, ">"))
        *out = x > number;
    else
        return false;
    return true;
}

/* The same elements, in another form or dtype. */
static bool called(const gg__known_mask *s, TSNode node, uint32_t depth, double *out) {
    static const char *const same[] = {"unsqueeze", "squeeze", "view",  "reshape", "expand",     "transpose",
                                       "permute",   "t",       "clone", "to",      "contiguous", "bool",
                                       "long",      "int",     "float", "flatten", "type",       "detach"};
    gg__inference look = {.in = &s->then.in};
    gg__call call = gg__read_call(&look, node);
    TSNode x = call.from ? gg__child(call.arguments, 0) : gg__field(gg__field(node, "function"), "object");
    if (call.form == GG__FUNCTIONAL || !gg__mask_constant(s, x, depth, out)) return false;
    if (gg_str_is(call.name, "logical_not")) {
        *out = *out == 0;
        return true;
    }
    return gg__is_one_of(call.name, same, GG_COUNT(same));
}

/* Which number all elements of the expression are, made of the mask. */
bool gg__mask_constant(const gg__known_mask *s, TSNode node, uint32_t depth, double *out) {
    node = gg__strip_parentheses(node);
    double number;
    if (depth > MAX_DEPTH) return false;
    if (gg__is_known_mask(s, node)) {
        *out = s->value;
        return true;
    }
    if (gg__infer(&s->then.in, node).sort != GG__TENSOR) return false;
    gg_str op = gg__text(s->in->tree, gg__field(node, "operator"));
    if (gg_node_is(node, "unary_operator") && gg_str_is(op, "~")) {
        if (!is_bool(s, node) || !gg__mask_constant(s, gg__field(node, "argument"), depth + 1, out)) return false;
        *out = *out == 0;
        return true;
    }
    if (gg_node_is(node, "binary_operator") && gg_str_is(op, "-")) { /* 1 - mask */
        if (!literal(s, gg__field(node, "left"), &number) || number != 1 ||
            !gg__mask_constant(s, gg__field(node, "right"), depth + 1, out))
            return false;
        *out = 1 - *out;
        return true;
    }
    if (gg_node_is(node, "comparison_operator")) return compared(s, node, depth + 1, out);
    if (gg_node_is(node, "subscript")) return gg__mask_constant(s, gg__field(node, "value"), depth + 1, out);
    return gg_node_is(node, "call") && called(s, node, depth + 1, out);
}

/* ---- statement by statement ------------------------------------------------------------------------------------------------ */

/* t of `t.shape` and `t.size()` */
static gg__meta sizes_of(const gg__known_mask *s, TSNode node) {
    const gg_tree *tree = s->in->tree;
    bool call = gg_node_is(node, "call");
    TSNode attribute = call ? gg__field(node, "function") : node;
    if ((call && gg__child_count(gg__field(node, "arguments"))) ||
        !gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), call ? "size" : "shape"))
        return gg__unknown;
    return gg__infer(&s->then.in, gg__field(attribute, "object"));
}

/* A number that the capture had; -1: nothing is known. */
static void learn_size(gg__known_mask *s, gg_str name, int64_t size) {
    gg__scalar_learn(&s->then, name, size < 0 ? gg__unknown : gg__any_number(GG__SCALAR_INT));
    for (size_t i = 0; size >= 0 && i < s->then.record.fact_count; i++) {
        gg_fact *fact = &s->then.facts[i];
        if (!gg_str_equal(fact->name, name)) continue;
        fact->has_number = true;
        fact->number = (double)size;
    }
}

/* Learns what the statement binds. */
bool gg__follow_mask(gg__known_mask *s, TSNode statement) {
    const gg_tree *tree = s->in->tree;
    TSNode expression = gg__child(statement, 0), left = gg__field(expression, "left");
    TSNode right = gg__field(expression, "right");
    if (gg_node_is(statement, "comment") || gg_node_is(statement, "pass_statement")) return true;
    gg__meta m = gg__infer(&s->then.in, right);
    bool fine = gg_node_is(expression, "assignment") && ts_node_is_null(gg__field(expression, "type")) &&
                (m.sort != GG__UNKNOWN || gg__is_harmless(tree, right));
    if (fine && gg_node_is(left, "identifier")) {
        gg__scalar_learn(&s->then, gg__text(tree, left), m);
        return true;
    }
    fine = fine && gg_node_is(left, "pattern_list");
    gg__meta sized = sizes_of(s, right);
    bool sizes = sized.sort == GG__TENSOR && sized.rank == (int32_t)gg__child_count(left);
    for (uint32_t i = 0; fine && i < gg__child_count(left); i++) {
        fine = gg_node_is(gg__child(left, i), "identifier");
        if (fine) learn_size(s, gg__text(tree, gg__child(left, i)), sizes ? sized.shape[i] : -1);
    }
    return fine || gg__hinder(s->in, statement, "is not known to leave the sizes of tensors as they are");
}
