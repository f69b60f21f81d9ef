/* GG089 mask-shortcut: `if not mask.any(): mask = None`, where what reads the mask behind it would change nothing anyway.
 * Offers: the statement is taken out.  Refuses: unless each later use is `if mask is not None: t = t.masked_fill(mask, number)`, whose mask is
 * false everywhere then, which fits whatever the values are, and makes a new tensor where that does not show.
 * Safety: exact.  Page: docs/rules/GG089.md
 *
 * DESIGN  The condition tells the value of all elements; the masks that are made of it are computed with that number.  Between are only names that get
 * what is harmless to compute, so that facts can follow. */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/select.h"

enum { MAX_DEPTH = 20 };

typedef struct shortcut {
    const gg_rule_input *in;
    TSNode node, whole; /* the if statement; what is taken out: it, or `if mask is not None:` around it alone */
    TSNode name;        /* where it is bound to None */
    gg_str text;        /* the name */
    double value;       /* of all elements, where it is taken */
    gg__scalar_uses then;
    uint32_t uses;
    bool copies;
} shortcut;

static bool is_name(const shortcut *s, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "identifier") && gg_str_equal(gg__text(s->in->tree, node), s->text);
}

/* `mask is not None` */
static bool asks_for_it(const shortcut *s, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "comparison_operator") && gg__child_count(node) >= 2 && is_name(s, gg__child(node, 0)) &&
           gg_node_is(gg__child(node, gg__child_count(node) - 1), "none") &&
           gg_str_is(gg__text(s->in->tree, ts_node_child(node, 1)), "is not") && ts_node_child_count(node) == 3;
}

static bool is_bool(const shortcut *s, TSNode node) {
    gg__meta m = gg__infer(&s->then.in, node);
    return m.sort == GG__TENSOR && gg__is_bool(m.dtype);
}

/* ---- the condition -------------------------------------------------------------------------------------------------------- */

/* X of X.any() and torch.any(X), also with `.item()` behind it, or inside of bool(). */
static TSNode asked(const shortcut *s, TSNode call, const char *what) {
    gg__inference look = {.in = s->in};
    gg__extraction e;
    TSNode none = {0};
    call = gg__strip_parentheses(call);
    if (!gg_node_is(call, "call")) return none;
    gg__call read = gg__read_call(&look, call);
    if (gg_str_is(read.name, what) && read.form != GG__FUNCTIONAL && gg__child_count(read.arguments) == read.from)
        return gg__strip_parentheses(read.from ? gg__child(read.arguments, 0)
                                               : gg__field(gg__field(call, "function"), "object"));
    if (!gg__match_extraction(s->in, call, &e) || e.truncates) return none;
    TSNode inner = gg__strip_parentheses(e.value);
    return gg_node_is(inner, "call") && !ts_node_eq(inner, call) ? asked(s, inner, what) : none;
}

/* Which value all elements have when each one is zero, or is true. */
static bool value_of(shortcut *s, TSNode x, bool zero) {
    gg__meta m = gg__infer(s->in, x);
    if (m.sort != GG__TENSOR) return false;
    if (is_name(s, x)) {
        s->value = zero ? 0 : 1;
        return zero || gg__is_bool(m.dtype);
    }
    if (gg_node_is(x, "unary_operator") && gg_str_is(gg__text(s->in->tree, gg__field(x, "operator")), "~")) {
        s->value = zero ? 1 : 0;
        return is_name(s, gg__field(x, "argument")) && gg__is_bool(m.dtype);
    }
    double number;
    if (zero || !gg_node_is(x, "comparison_operator") || gg__child_count(x) != 2 || !is_name(s, gg__child(x, 0)) ||
        !gg_str_is(gg__text(s->in->tree, ts_node_child(x, 1)), "==") ||
        !gg__literal_value(s->in->tree, gg__child(x, 1), &number))
        return false;
    s->value = number;
    return number == 0 || number == 1;
}

/* `not mask.any()`, `mask.all()`, `mask.sum() == 0` */
static bool read_test(shortcut *s, TSNode test) {
    test = gg__strip_parentheses(test);
    if (gg_node_is(test, "not_operator")) {
        TSNode x = asked(s, gg__field(test, "argument"), "any");
        return !ts_node_is_null(x) && value_of(s, x, true);
    }
    if (gg_node_is(test, "comparison_operator") && gg__child_count(test) == 2) {
        TSNode x = asked(s, gg__child(test, 0), "sum");
        return !ts_node_is_null(x) && is_name(s, x) && is_bool(s, x) &&
               gg_str_is(gg__text(s->in->tree, ts_node_child(test, 1)), "==") &&
               gg_str_is(gg__text(s->in->tree, gg__child(test, 1)), "0") && value_of(s, x, true);
    }
    TSNode x = asked(s, test, "all");
    return !ts_node_is_null(x) && value_of(s, x, false);
}

static bool defaults_to_none(const shortcut *s) {
    TSNode parameters = gg__field(gg__function(s->node), "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode parameter = gg__child(parameters, i);
        if (gg_str_equal(gg__text(s->in->tree, gg__field(parameter, "name")), s->text) &&
            gg_node_is(gg__field(parameter, "value"), "none"))
            return true;
    }
    return false;
}

/* Asking None would have been an error: the name certainly holds a tensor, as far as the function tells. */
static bool is_never_none(const shortcut *s) {
    TSNode function = gg__function(s->node), parameters = gg__field(function, "parameters");
    TSNode value = gg__value_at(s->in->tree, s->node, s->text);
    if (!ts_node_is_null(value)) return gg__infer(s->in, value).sort == GG__TENSOR;
    return gg__binds(s->in->tree, parameters, s->text) && !defaults_to_none(s);
}

/* `if [mask is not None and] not mask.any(): mask = None` in the function's own body, or alone under `if mask is not None:` there. */
static bool find(const gg_rule_input *in, shortcut *s) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !gg_node_is(at, "if_statement")) at = gg__parent(at);
    TSNode condition = gg__strip_parentheses(gg__field(at, "condition"));
    TSNode assignment = gg__assignment(gg__only_statement(gg__field(at, "consequence")));
    if (!gg_node_is(at, "if_statement") || !gg__covers(condition, in->span) || ts_node_is_null(assignment) ||
        !gg_node_is(gg__field(assignment, "right"), "none") || !ts_node_is_null(gg__field(at, "alternative")))
        return false;
    s->node = s->whole = at;
    s->name = gg__field(assignment, "left");
    s->text = gg__text(in->tree, s->name);
    if (!gg__reads(in->tree, condition, s->text)) return false;
    TSNode around = gg__parent(gg__parent(at));
    bool guarded = false;
    if (gg_node_is(around, "if_statement") && asks_for_it(s, gg__field(around, "condition"))) {
        if (!ts_node_is_null(gg__field(around, "alternative")) ||
            !ts_node_eq(gg__only_statement(gg__field(around, "consequence")), at))
            return gg__hinder(in, around, "does more than ask for the mask");
        s->whole = around;
        guarded = true;
    }
    if (gg_node_is(condition, "boolean_operator") && asks_for_it(s, gg__field(condition, "left")) &&
        gg_str_is(gg__text(in->tree, gg__field(condition, "operator")), "and")) {
        guarded = true;
        condition = gg__field(condition, "right");
    }
    if (!read_test(s, condition)) return gg__hinder(in, condition, "does not tell what all elements of the mask are");
    if (!guarded && !is_never_none(s))
        return gg__hinder(in, condition, "is an error where `%.*s` is None, and would be none any more",
                          GG_STR_ARG(s->text));
    TSNode function = gg__function(s->node);
    if (!gg_node_is(function, "function_definition") ||
        !ts_node_eq(gg__parent(s->whole), gg__field(function, "body")) || !gg__alone_on_line(in->tree, s->whole))
        return gg__hinder(in, s->node, "is not a statement of the function's own body");
    if (gg__has_comment(in->tree, gg_node_span(s->whole)))
        return gg__hinder(in, s->whole, "a comment inside of it would be lost");
    return true;
}

/* ---- what reads the mask ---------------------------------------------------------------------------------------------------- */

static bool literal(const shortcut *s, TSNode node, double *out) {
    return gg__literal_value(s->in->tree, gg__strip_parentheses(node), out);
}

static bool constant(const shortcut *s, TSNode node, uint32_t depth, double *out);

/* `mask == 0` */
static bool compared(const shortcut *s, TSNode node, uint32_t depth, double *out) {
    double x, number;
    if (gg__child_count(node) != 2 || !constant(s, gg__child(node, 0), depth, &x) ||
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
static bool called(const shortcut *s, TSNode node, uint32_t depth, double *out) {
    static const char *const same[] = {"unsqueeze", "squeeze", "view",  "reshape", "expand",     "transpose",
                                       "permute",   "t",       "clone", "to",      "contiguous", "bool",
                                       "long",      "int",     "float", "flatten", "type",       "detach"};
    gg__inference look = {.in = &s->then.in};
    gg__call call = gg__read_call(&look, node);
    TSNode x = call.from ? gg__child(call.arguments, 0) : gg__field(gg__field(node, "function"), "object");
    if (call.form == GG__FUNCTIONAL || !constant(s, x, depth, out)) return false;
    if (gg_str_is(call.name, "logical_not")) {
        *out = *out == 0;
        return true;
    }
    return gg__is_one_of(call.name, same, GG_COUNT(same));
}

/* Which number all elements of the expression are, made of the mask. */
static bool constant(const shortcut *s, TSNode node, uint32_t depth, double *out) {
    node = gg__strip_parentheses(node);
    double number;
    if (depth > MAX_DEPTH) return false;
    if (is_name(s, node)) {
        *out = s->value;
        return true;
    }
    if (gg__infer(&s->then.in, node).sort != GG__TENSOR) return false;
    gg_str op = gg__text(s->in->tree, gg__field(node, "operator"));
    if (gg_node_is(node, "unary_operator") && gg_str_is(op, "~")) {
        if (!is_bool(s, node) || !constant(s, gg__field(node, "argument"), depth + 1, out)) return false;
        *out = *out == 0;
        return true;
    }
    if (gg_node_is(node, "binary_operator") && gg_str_is(op, "-")) { /* 1 - mask */
        if (!literal(s, gg__field(node, "left"), &number) || number != 1 ||
            !constant(s, gg__field(node, "right"), depth + 1, out))
            return false;
        *out = 1 - *out;
        return true;
    }
    if (gg_node_is(node, "comparison_operator")) return compared(s, node, depth + 1, out);
    if (gg_node_is(node, "subscript")) return constant(s, gg__field(node, "value"), depth + 1, out);
    return gg_node_is(node, "call") && called(s, node, depth + 1, out);
}

/* `t = t.masked_fill(mask, number)`: what it was, with such a mask. */
static bool fills_nothing(shortcut *s, TSNode use, TSNode statement) {
    static const char *const names[] = {"mask", "value"};
    const gg_rule_input *now = &s->then.in;
    gg__inference look = {.in = now};
    TSNode assignment = gg__assignment(statement), call = gg__field(assignment, "right"), given[2];
    TSNode target = gg__field(assignment, "left");
    if (!gg_node_is(call, "call"))
        return gg__hinder(s->in, statement, "reads the mask, and is no `t = t.masked_fill(mask, number)`");
    gg__call read = gg__read_call(&look, call);
    TSNode x = gg__strip_parentheses(read.from ? gg__child(read.arguments, 0)
                                               : gg__field(gg__field(call, "function"), "object"));
    gg_str name = gg__text(s->in->tree, target);
    if (!gg_str_is(read.name, "masked_fill") || read.form == GG__FUNCTIONAL || !gg_node_is(x, "identifier") ||
        !gg_str_equal(gg__text(s->in->tree, x), name) || !gg__bind_arguments(&look, &read, names, 2, given))
        return gg__hinder(s->in, statement, "reads the mask, and is no `t = t.masked_fill(mask, number)`");
    double filled;
    gg__meta before = gg__infer(now, x), after = gg__infer(now, call);
    if (!constant(s, given[0], 0, &filled) || filled != 0)
        return gg__hinder(s->in, given[0], "is not known to be false everywhere where the shortcut is taken");
    if (before.sort != GG__TENSOR) return gg__hinder(s->in, x, "its dtype and sizes are not known here");
    if (after.sort != GG__TENSOR || (s->then.lowered && !gg__holds(GG_STR("torch.float16"), gg__infer(now, given[1]))))
        return gg__hinder(s->in, call, "may be an error, with a mask that fills nothing too");
    if (!gg__same_tensor(before, after) || gg__sizes_may_differ(now, use, before))
        return gg__hinder(s->in, call, "may be of other sizes or strides than `%.*s`", GG_STR_ARG(name));
    if (gg__alias_shows(now, use, x, name))
        return gg__hinder(s->in, call, "other code may hold `%.*s`, and this is a new tensor", GG_STR_ARG(name));
    s->copies = s->copies || gg__is_copy(now, use, x, name);
    return true;
}

static bool fill_nothing(shortcut *s, TSNode use) {
    TSNode block = gg__field(use, "consequence");
    if (!gg_node_is(use, "if_statement") || !asks_for_it(s, gg__field(use, "condition")) ||
        !ts_node_is_null(gg__field(use, "alternative")))
        return gg__hinder(s->in, use, "reads the mask, and is no `if %.*s is not None:` alone", GG_STR_ARG(s->text));
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!gg_node_is(gg__child(block, i), "comment") && !fills_nothing(s, use, gg__child(block, i))) return false;
    s->uses++;
    return true;
}

/* ---- statement by statement ----------------------------------------------------------------------------------------------- */

static bool is_plain(TSNode node, void *data) { /* no name is reached but by what the function's body does */
    const shortcut *s = data;
    const gg_tree *tree = s->in->tree;
    if (gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement")) return false;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (gg__watches_names(tree, node)) return false;
    return !gg_str_equal(gg__text(tree, node), s->text) || ts_node_eq(gg__function(node), gg__function(s->node)) ||
           !gg__is_in_inner_function(node, gg__function(s->node));
}

/* t of `t.shape` and `t.size()` */
static gg__meta sizes_of(const shortcut *s, TSNode node) {
    const gg_tree *tree = s->in->tree;
    bool call = gg_node_is(node, "call");
    TSNode attribute = call ? gg__field(node, "function") : node;
    if ((call && gg__child_count(gg__field(node, "arguments"))) ||
        !gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), call ? "size" : "shape"))
        return gg__unknown;
    return gg__infer(&s->then.in, gg__field(attribute, "object"));
}

/* A number that the capture had; -1: nothing is known. */
static void learn_size(shortcut *s, gg_str name, int64_t size) {
    gg__scalar_learn(&s->then, name, size < 0 ? gg__unknown : gg__any_number(GG__SCALAR_INT));
    for (size_t i = 0; size >= 0 && i < s->then.record.fact_count; i++) {
        gg_fact *fact = &s->then.facts[i];
        if (!gg_str_equal(fact->name, name)) continue;
        fact->has_number = true;
        fact->number = (double)size;
    }
}

/* Learns what the statement binds. */
static bool follow(shortcut *s, TSNode statement) {
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

static bool look(const gg_rule_input *in, shortcut *s) {
    *s = (shortcut){.in = in};
    if (!gg__scalar_uses_init(&s->then, in, GG_STR("torch.float32"), GG__AS_IS)) return false;
    s->then.approximate = true; /* what is of lower precision under autocast is learned, too */
    if (!find(in, s)) return false;
    TSNode last = {0};
    if (!gg__visit(gg__function(s->node), is_plain, s))
        return gg__hinder(in, s->node, "`%.*s` may be read by other functions", GG_STR_ARG(s->text));
    for (TSNode at = ts_node_next_named_sibling(s->whole); !ts_node_is_null(at); at = ts_node_next_named_sibling(at))
        if (gg__reads(in->tree, at, s->text)) last = at;
    if (ts_node_is_null(last)) return gg__hinder(in, s->node, "nothing reads `%.*s` later", GG_STR_ARG(s->text));
    for (TSNode at = ts_node_next_named_sibling(s->whole);; at = ts_node_next_named_sibling(at)) {
        if (!(gg__reads(in->tree, at, s->text) ? fill_nothing(s, at) : follow(s, at))) return false;
        if (ts_node_eq(at, last)) break;
    }
    return s->uses > 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    shortcut *s = gg_arena_alloc(arena, sizeof(*s));
    bool found = look(in, s);
    out->node = s->whole;
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    shortcut *s = gg_arena_alloc(arena, sizeof(*s));
    if (!look(in, s)) return gg_fail(err, GG_ENOMATCH, "the mask is not proven to fill nothing");
    out->copies = s->copies;
    gg__delete_statement(in->tree, match->node, out);
    return 0;
}

const gg_rule gg_rule_mask_shortcut = {
    .code = "GG089",
    .name = "mask-shortcut",
    .title = "Leave the mask as it is: it fills nothing then",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
