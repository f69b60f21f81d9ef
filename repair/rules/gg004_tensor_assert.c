/* GG004 tensor-assert: an `if` that only raises, and an assert whose message is computed, bring a condition to Python.
 * Offers: torch._assert_async while compiling, and the author's own check otherwise: for arms of an `if` that only raise, for assert and
 * torch._assert.  Refuses: unless the condition is proven to be a number as a tensor, and where code around it may catch the exception.
 * Safety: effects (under compile a failed check raises RuntimeError, on CUDA later).  Page: docs/rules/GG004.md
 *
 * DESIGN  What is known without a tensor stays in Python: `if x is None or x.isnan().any()` asserts only where `x is None` is false, and
 * goes on to the author's own check where it is true.  Where other arms go on, the asserts stand in front of the statement. */
#include "repair/truth.h"

enum { MAX_ARMS = 16 };

typedef struct validation {
    TSNode statement, condition, message; /* message may be null */
    TSNode raise;                         /* or what exits; null: assert or torch._assert */
    TSNode arms[MAX_ARMS];                /* of an `if`: what has a condition, in order */
    size_t arm_count;
    size_t first, run; /* of the arms that raise and are asserted together, in order */
    bool raises_when_true;
    bool inside;  /* the assert becomes an arm, in front of the first of them */
    bool goes_on; /* other arms follow: they are what happens where the check holds */
} validation;

/* `not torch.compiler.is_compiling() and …`: false where the assert is. */
static bool is_guarded(const gg_tree *tree, TSNode condition) {
    TSNode at = gg__strip_parentheses(condition);
    if (!gg__is_and(tree, at)) return false;
    while (gg__is_and(tree, at)) at = gg__strip_parentheses(gg__field(at, "left"));
    TSNode call = gg__field(at, "argument");
    return gg_node_is(at, "not_operator") && gg_node_is(call, "call") &&
           gg__refers_to(tree, gg__field(call, "function"), "torch.compiler.is_compiling");
}

static bool find_arms(validation *v) {
    v->arms[v->arm_count++] = v->statement;
    for (uint32_t i = 0; i < gg__child_count(v->statement); i++) {
        TSNode child = gg__child(v->statement, i);
        if (!gg_node_is(child, "elif_clause")) continue;
        if (v->arm_count == MAX_ARMS) return false;
        v->arms[v->arm_count++] = child;
    }
    return true;
}

/* The arms behind the first that raise as well, whose conditions are known: `if a: raise A`, `elif b: raise B`.  All asserts come first then. */
static void find_run(const gg_rule_input *in, validation *v) {
    v->run = 1;
    if (!gg__has_truth(in, v->condition)) return;
    for (size_t i = v->first + 1; i < v->arm_count; i++, v->run++)
        if (ts_node_is_null(gg__only_raise(in, gg__field(v->arms[i], "consequence"))) ||
            !gg__has_truth(in, gg__field(v->arms[i], "condition")))
            return;
}

static bool match_if(const gg_rule_input *in, validation *v) {
    TSNode alternative = gg__field(v->statement, "alternative");
    bool otherwise = false, guarded = false;
    if (!find_arms(v)) return false;
    while (v->first < v->arm_count && !gg__covers(gg__field(v->arms[v->first], "condition"), in->span)) v->first++;
    if (v->first == v->arm_count) return false;
    v->condition = gg__field(v->arms[v->first], "condition");
    v->raise = gg__only_raise(in, gg__field(v->arms[v->first], "consequence"));
    v->raises_when_true = !ts_node_is_null(v->raise);
    if (!v->raises_when_true) { /* `if holds: … else: raise` */
        v->run = 1;
        v->goes_on = true;
        bool only = v->first == 0 && gg_node_is(alternative, "else_clause");
        v->raise = only ? gg__only_raise(in, gg__field(alternative, "body")) : v->raise;
        return !ts_node_is_null(v->raise);
    }
    find_run(in, v);
    for (uint32_t i = 0; i < gg__child_count(v->statement); i++)
        otherwise = otherwise || gg_node_is(gg__child(v->statement, i), "else_clause");
    for (size_t i = 0; i < v->first; i++) guarded = guarded || is_guarded(in->tree, gg__field(v->arms[i], "condition"));
    bool last = v->first + v->run == v->arm_count && !otherwise;
    v->inside = v->first > 0 && last && !guarded;
    v->goes_on = !last || (v->first > 0 && !v->inside);
    return true;
}

static bool match(const gg_rule_input *in, validation *v) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), call = gg__child(statement, 0);
    *v = (validation){.statement = statement, .run = 1};
    if (gg_node_is(statement, "assert_statement")) {
        v->condition = gg__child(statement, 0);
        v->message = gg__message_of(statement);
        return !gg__is_plain_message(in->tree, v->message) || !gg__is_condition(gg__infer(in, v->condition));
    }
    if (gg_node_is(statement, "if_statement")) return match_if(in, v);
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(call, "call") ||
        !gg__refers_to(in->tree, gg__field(call, "function"), "torch._assert"))
        return false;
    TSNode arguments = gg__field(call, "arguments");
    v->condition = gg__child(arguments, 0);
    v->message = gg__child(arguments, 1);
    return gg__child_count(arguments) == 2 && !gg_node_is(v->condition, "keyword_argument") &&
           !gg_node_is(v->message, "keyword_argument");
}

/* ---- what must hold ------------------------------------------------------------------------------------------------------ */

enum { MAX_OPERANDS = 32 };

typedef struct demand {
    gg_str when;  /* Python: the assert is for where this is true; empty: always */
    gg_str holds; /* a tensor; empty when not known */
} demand;

/* The operands of a row of the same operator, in order; one when it is none. */
static size_t operands_of(const gg_tree *tree, TSNode node, TSNode out[MAX_OPERANDS]) {
    gg_str op = gg__text(tree, gg__field(node, "operator"));
    TSNode reversed[MAX_OPERANDS];
    size_t count = 0;
    while (gg_node_is(node, "boolean_operator") && gg_str_equal(gg__text(tree, gg__field(node, "operator")), op) &&
           count < MAX_OPERANDS - 1) {
        reversed[count++] = gg__field(node, "right");
        node = gg__strip_parentheses(gg__field(node, "left"));
    }
    reversed[count++] = node;
    for (size_t i = 0; i < count; i++) out[i] = reversed[count - 1 - i];
    return count;
}

/* `known and tensor`, `known or tensor`: what is known without a tensor comes first, and is asked again by the author's own check. */
static demand split(const gg_rule_input *in, TSNode condition, gg_str torch, gg_arena *arena) {
    TSNode operands[MAX_OPERANDS];
    size_t count = operands_of(in->tree, condition, operands), known = 0;
    bool both = gg__is_and(in->tree, condition);
    demand d = {0};
    while (known < count && !gg__has_truth(in, operands[known]) && gg__is_harmless(in->tree, operands[known])) known++;
    if (known == 0 || known == count) return d;
    for (size_t i = known; i < count; i++) {
        gg_str one = gg__truth(in, operands[i], false, torch, arena);
        if (one.len == 0) return (demand){0};
        bool single = known + 1 == count;
        d.holds = gg_arena_printf(arena, "%.*s%s%s%.*s%s", GG_STR_ARG(d.holds),
                                  i == known ? ""
                                  : both     ? " & "
                                             : " | ",
                                  single ? "" : "(", GG_STR_ARG(one), single ? "" : ")");
    }
    gg_span span = {ts_node_start_byte(operands[0]), ts_node_end_byte(operands[known - 1])};
    gg_str when = gg_text_slice(gg_tree_text(in->tree), span);
    bool wrap = known > 1 || gg__needs_parentheses(gg__strip_parentheses(operands[0]));
    if (gg__has_comment(in->tree, span)) return (demand){0};
    d.when = both && !wrap ? when : gg_arena_printf(arena, "%s(%.*s)", both ? "" : "not ", GG_STR_ARG(when));
    d.holds = gg_arena_printf(arena, "%.*s.logical_not(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(d.holds));
    return d;
}

static demand demand_of(const gg_rule_input *in, const validation *v, gg_str torch, gg_arena *arena) {
    TSNode condition = gg__strip_parentheses(v->condition), inner = condition;
    demand d = {.holds = gg__truth_as_before(in, condition, v->raises_when_true, torch, arena)};
    gg__equality equal;
    if (d.holds.len || gg__has_comment(in->tree, gg_node_span(condition))) return d;
    if (v->raises_when_true && gg_node_is(inner, "not_operator"))
        inner = gg__strip_parentheses(gg__field(inner, "argument"));
    bool asks = v->raises_when_true != ts_node_eq(inner, condition); /* fails unless they are equal */
    if (asks && !v->goes_on && gg__is_equality(in, inner, arena, &equal)) return (demand){equal.shapes, equal.elements};
    bool joins = gg__is_and(in->tree, condition) || (!v->goes_on && gg_node_is(condition, "boolean_operator"));
    return v->raises_when_true && joins ? split(in, condition, torch, arena) : d;
}

/* In front of the statement, the assert is for where no arm before its own is taken: `not (a) and not (b)`; false when that cannot be asked there. */
static bool is_reached(const gg_rule_input *in, const validation *v, gg_arena *arena, gg_str *out) {
    *out = GG_STR_NULL;
    for (size_t i = 0; i < v->first && !v->inside; i++) {
        TSNode condition = gg__strip_parentheses(gg__field(v->arms[i], "condition"));
        if (is_guarded(in->tree, condition)) continue;
        if (gg__has_truth(in, condition) || !gg__is_harmless(in->tree, condition) ||
            gg__has_comment(in->tree, gg_node_span(condition)))
            return false;
        *out = gg_arena_printf(arena, "%.*s%snot (%.*s)", GG_STR_ARG(*out), out->len ? " and " : "",
                               GG_STR_ARG(gg__text(in->tree, condition)));
    }
    return true;
}

/* Is there a case for compiling already?  Arms of this statement that are not taken then are no such case. */
static bool is_told_apart(const gg_tree *tree, const validation *v) {
    for (size_t i = 0; i < v->arm_count; i++) {
        TSNode condition = gg__field(v->arms[i], "condition");
        bool own = i >= v->first && i < v->first + v->run;
        if (gg_str_contains(gg__text(tree, condition), GG_STR("is_compiling()")) &&
            (own || !is_guarded(tree, condition)))
            return true;
    }
    for (TSNode at = gg__parent(v->statement); !ts_node_is_null(at) && !gg_node_is(at, "function_definition");
         at = gg__parent(at)) {
        if (!gg_node_is(at, "if_statement")) continue;
        for (uint32_t i = 0; i < gg__child_count(at); i++) {
            TSNode arm = gg__child(at, i), test = gg_node_is(arm, "elif_clause") ? gg__field(arm, "condition") : arm;
            if (!gg_node_is(test, "block") && !gg_node_is(test, "else_clause") &&
                gg_str_contains(gg__text(tree, test), GG_STR("is_compiling()")))
                return true;
        }
    }
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    validation v;
    if (ts_node_is_null(gg__statement(gg_node_at(in->tree, in->span))) || !match(in, &v)) return false;
    out->node = v.statement;
    if (!gg__alone_on_line(in->tree, v.statement) || is_told_apart(in->tree, &v) ||
        !gg__can_name(in->tree, v.statement, "torch"))
        return false;
    gg_arena *arena = gg_arena_new();
    gg_str reached;
    bool known = demand_of(in, &v, GG_STR("torch"), arena).holds.len > 0 && is_reached(in, &v, arena, &reached);
    gg_arena_free(arena);
    return known && !gg__may_be_caught(in->tree, v.statement); /* asked last: it may read the whole file */
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------ */

/* `if c` → `if not compiling and c`, or `if compiling or c` */
static void guard(const gg_rule_input *in, TSNode condition, bool raises_when_true, gg_str compiling, gg_arena *arena,
                  gg_edits *out) {
    gg_span span = gg_node_span(condition);
    bool is_or = gg_node_is(condition, "boolean_operator") && !gg__is_and(in->tree, condition);
    bool wrap = gg__needs_parentheses(condition) && (raises_when_true || !is_or);
    bool touches = ts_node_end_byte(ts_node_prev_sibling(condition)) == span.start; /* `if(x):` */
    gg_edits_add(out, (gg_span){span.start, span.start},
                 gg_arena_printf(arena, raises_when_true ? "%snot %.*s and %s" : "%s%.*s or %s", touches ? " " : "",
                                 GG_STR_ARG(compiling), wrap ? "(" : ""));
    if (wrap) gg_edits_add(out, (gg_span){span.end, span.end}, GG_STR(")"));
}

/* The asserts, each on a line of its own. */
static gg_str asserts(const gg_rule_input *in, const validation *v, gg_str first, gg_str torch, gg_str start,
                      gg_arena *arena) {
    gg_str out = GG_STR_NULL;
    for (size_t i = 0; i < v->run; i++) {
        TSNode arm = v->arms[v->first + i], raise = v->raise;
        gg_str holds = first;
        if (i) {
            raise = gg__only_raise(in, gg__field(arm, "consequence"));
            holds = gg__truth(in, gg__field(arm, "condition"), true, torch, arena);
        }
        gg_str message = gg__constant_message(in->tree, v->message, raise, arena);
        out = gg_arena_printf(arena, "%.*s%.*s%.*s._assert_async(%.*s, %.*s)", GG_STR_ARG(out), GG_STR_ARG(start),
                              GG_STR_ARG(torch), GG_STR_ARG(holds), GG_STR_ARG(message));
    }
    return out;
}

static int edit(const gg_rule_input *in, const gg_rule_match *found, gg_arena *arena, gg_edits *out, gg_error *err) {
    validation v;
    gg_str reached;
    (void)found;
    if (!match(in, &v) || !is_reached(in, &v, arena, &reached)) return gg_fail(err, GG_ENOMATCH, "this is no check");
    gg_str torch = gg__require_module(in->tree, v.statement, "torch", arena, out);
    demand d = demand_of(in, &v, torch, arena);
    gg_str compiling = gg_arena_printf(arena, "%.*s.compiler.is_compiling()", GG_STR_ARG(torch));
    uint32_t at = ts_node_start_byte(v.inside ? v.arms[v.first] : v.statement);
    gg_str unit = gg__indent_unit(in->tree);
    gg_str line =
        gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(gg__newline(in->tree)), GG_STR_ARG(gg__indent(in->tree, at)));
    gg_str deeper = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(line), GG_STR_ARG(unit));
    gg_str when = reached.len && d.when.len
                      ? gg_arena_printf(arena, "%.*s and %.*s", GG_STR_ARG(reached), GG_STR_ARG(d.when))
                      : (reached.len ? reached : d.when);
    gg_str head = gg_arena_printf(arena, "%sif %.*s%s%.*s:%.*s%.*s", v.inside ? "el" : "", GG_STR_ARG(compiling),
                                  when.len ? " and " : "", GG_STR_ARG(when),
                                  GG_STR_ARG(asserts(in, &v, d.holds, torch, deeper, arena)), GG_STR_ARG(line));
    if (ts_node_is_null(v.raise)) /* the author's assert goes into the `else` */
        head = gg_arena_printf(arena, "%.*selse:%.*s", GG_STR_ARG(head), GG_STR_ARG(deeper));
    else if (!v.inside && !v.goes_on) /* the author's `if` becomes the `elif` */
        head = gg_arena_printf(arena, "%.*sel", GG_STR_ARG(head));
    gg_edits_add(out, (gg_span){at, at}, head);
    for (size_t i = 0; i < v.run && v.goes_on; i++)
        guard(in, gg__field(v.arms[v.first + i], "condition"), v.raises_when_true, compiling, arena, out);
    return 0;
}

const gg_rule gg_rule_tensor_assert = {
    .code = "GG004",
    .name = "tensor-assert",
    .title = "Check with an assert that can be traced",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
