/* GG061 apply: t.apply_(lambda a: …) calls Python for each element, which no graph can.
 * Offers: the in-place operation that counts the same.  Refuses: unless the body is one operation on the element whose result is rounded as
 * torch rounds it: Python counts in double precision, torch in that of the tensor, and one sum, difference, product or quotient of numbers
 * that single precision holds is the same in both.  Safety: exact.  Page: docs/rules/GG061.md */
#include <errno.h>
#include <stdlib.h>

#include "repair/syntax.h"

enum { MAX_WHOLE = 1 << 24 }; /* up to here single precision holds every integer */

/* A number that is the same in single and in double precision, and not zero. */
static bool is_exact_number(const gg_tree *tree, TSNode node, gg_arena *arena) {
    if (gg_node_is(node, "unary_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "-"))
        node = gg__field(node, "argument");
    if (!gg_node_is(node, "integer") && !gg_node_is(node, "float")) return false;
    char *text = gg_arena_z(arena, gg__text(tree, node)), *end = text;
    errno = 0;
    double value = strtod(text, &end); /* stops at `_`, `j` */
    bool whole = gg_node_is(node, "integer");
    if (*end || errno || (text[0] == '0' && text[1] && text[1] != '.')) return false;
    return value > 0 && value <= MAX_WHOLE && (whole || value * 1024 == (double)(long)(value * 1024));
}

typedef struct body {
    const char *method; /* "add_" */
    TSNode operand;     /* null: none */
    bool itself;        /* the operand is the tensor itself */
    bool negated;       /* neg_() before it */
} body;

static bool is_name(const gg_tree *tree, TSNode node, gg_str name) {
    return gg_node_is(node, "identifier") && gg_str_equal(gg__text(tree, node), name);
}

static bool read_binary(const gg_tree *tree, TSNode node, gg_str name, gg_arena *arena, body *out) {
    TSNode left = gg__strip_parentheses(gg__field(node, "left")),
           right = gg__strip_parentheses(gg__field(node, "right"));
    gg_str op = gg__text(tree, gg__field(node, "operator"));
    bool a = is_name(tree, left, name), b = is_name(tree, right, name);
    out->method = gg_str_is(op, "+")   ? "add_"
                  : gg_str_is(op, "-") ? "sub_"
                  : gg_str_is(op, "*") ? "mul_"
                  : gg_str_is(op, "/") ? "div_"
                                       : NULL;
    if (out->method == NULL) return false;
    out->itself = a && b;
    if (a && b) return !gg_str_is(op, "/"); /* Python raises for 0 / 0 */
    out->operand = a ? right : left;
    if ((!a && !b) || !is_exact_number(tree, out->operand, arena)) return false;
    if (a) return true;
    if (gg_str_is(op, "/")) return false;
    out->negated = gg_str_is(op, "-"); /* c - a is -a + c */
    if (out->negated) out->method = "add_";
    return true;
}

static bool read_body(const gg_tree *tree, TSNode lambda, gg_arena *arena, body *out) {
    TSNode parameters = gg__field(lambda, "parameters"), node = gg__strip_parentheses(gg__field(lambda, "body"));
    *out = (body){0};
    if (gg__child_count(parameters) != 1 || !gg_node_is(gg__child(parameters, 0), "identifier")) return false;
    gg_str name = gg__text(tree, gg__child(parameters, 0));
    if (gg_node_is(node, "binary_operator")) return read_binary(tree, node, name, arena, out);
    if (gg_node_is(node, "unary_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "-")) {
        out->method = "neg_";
        return is_name(tree, gg__strip_parentheses(gg__field(node, "argument")), name);
    }
    out->method = "abs_";
    TSNode arguments = gg__field(node, "arguments");
    return gg_node_is(node, "call") && gg__names_builtin(tree, gg__field(node, "function"), "abs") &&
           gg__child_count(arguments) == 1 && is_name(tree, gg__child(arguments, 0), name);
}

static TSNode lambda_of(TSNode call) {
    TSNode arguments = gg__field(call, "arguments"), lambda = gg__child(arguments, 0);
    return gg__child_count(arguments) == 1 && gg_node_is(lambda, "lambda") ? lambda : (TSNode){0};
}

/* apply_ is for the CPU, and calls back in double precision: of what is narrower than single precision too much is unproven. */
static bool is_wide(const gg_rule_input *in, TSNode object) {
    gg__meta m = gg__infer(in, object);
    bool wide = gg_str_is(m.dtype, "torch.float32") || gg_str_is(m.dtype, "torch.float64");
    return m.sort == GG__TENSOR && wide && !m.vague && gg_node_is(object, "identifier");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), function = gg__field(call, "function");
    body b;
    out->node = call;
    if (!gg_node_is(call, "call") || !gg_node_is(function, "attribute") ||
        !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "apply_") ||
        gg__has_comment(in->tree, gg_node_span(call)) || ts_node_is_null(lambda_of(call)) ||
        !is_wide(in, gg__field(function, "object")))
        return false;
    gg_arena *arena = gg_arena_new();
    bool good = read_body(in->tree, lambda_of(call), arena, &b);
    gg_arena_free(arena);
    return good;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    body b;
    TSNode object = gg__field(gg__field(match->node, "function"), "object");
    if (!read_body(in->tree, lambda_of(match->node), arena, &b)) return gg_fail(err, GG_ENOMATCH, "not one operation");
    gg_str name = gg__text(in->tree, object), operand = b.itself ? name : gg__text(in->tree, b.operand);
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s%s.%s(%.*s)", GG_STR_ARG(name), b.negated ? ".neg_()" : "", b.method,
                                 GG_STR_ARG(operand)));
    return 0;
}

const gg_rule gg_rule_apply = {
    .code = "GG061",
    .name = "apply",
    .title = "Change all elements at once",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
