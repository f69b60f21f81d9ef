/* GG004 tensor-assert: an `if` that only raises, and an assert whose message is computed, bring a condition to Python.
 * Offers: torch._assert_async while compiling, and the author's own check otherwise: for an arm of an `if` that only raises, for assert and
 * torch._assert.  Refuses: unless the condition is proven to be a number as a tensor, and where code around it may catch the exception.
 * Safety: effects (under compile a failed check raises RuntimeError, on CUDA later).  Page: docs/rules/GG004.md
 *
 * DESIGN  What is known without a tensor stays in Python: `if x is None or x.isnan().any()` asserts only where `x is None` is false, and
 * goes on to the author's own check where it is true. */
#include <string.h>

#include "repair/truth.h"

typedef struct validation {
    TSNode statement, condition, message; /* message may be null */
    TSNode raise;                         /* null: assert or torch._assert */
    TSNode clause;                        /* the elif that raises; null otherwise */
    bool raises_when_true;
    bool goes_on; /* other arms follow: they are what happens where the check holds */
} validation;

/* The raise that a block ends in; null node when it does anything else but say something, or make what is raised. */
static TSNode only_raise(const gg_rule_input *in, TSNode block) {
    TSNode last = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i), inner = gg__child(child, 0);
        if (gg_node_is(child, "comment")) continue;
        bool makes = gg_node_is(child, "expression_statement") && gg_node_is(inner, "assignment") &&
                     gg_node_is(gg__field(inner, "left"), "identifier") &&
                     gg__is_harmless(in->tree, gg__field(inner, "right"));
        if (!ts_node_is_null(last) && !gg__is_diagnostic(in, last) && !gg_node_is(gg__child(last, 0), "assignment"))
            return (TSNode){0};
        if (!makes && !gg__is_diagnostic(in, child) && !gg_node_is(child, "raise_statement")) return (TSNode){0};
        last = child;
    }
    return gg_node_is(last, "raise_statement") && gg__child_count(last) == 1 ? last : (TSNode){0};
}

static bool match_if(const gg_rule_input *in, validation *v) {
    TSNode statement = v->statement, alternative = gg__field(statement, "alternative");
    TSNode last = gg__child(statement, gg__child_count(statement) - 1);
    v->raises_when_true = true;
    v->condition = gg__field(statement, "condition");
    if (gg__covers(v->condition, in->span)) {
        v->goes_on = !ts_node_is_null(alternative);
        v->raise = only_raise(in, gg__field(statement, "consequence"));
        if (!ts_node_is_null(v->raise)) return true;
        v->raises_when_true = false; /* `if holds: … else: raise` */
        v->raise = gg_node_is(alternative, "else_clause") ? only_raise(in, gg__field(alternative, "body")) : v->raise;
        return !ts_node_is_null(v->raise);
    }
    v->condition = gg__field(last, "condition"); /* `elif fails: raise`, and no arm behind it */
    v->clause = last;
    v->raise = only_raise(in, gg__field(last, "consequence"));
    return gg_node_is(last, "elif_clause") && gg__covers(v->condition, in->span) && !ts_node_is_null(v->raise);
}

static bool match(const gg_rule_input *in, validation *v) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), call = gg__child(statement, 0);
    *v = (validation){.statement = statement};
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
    demand d = {.holds = gg__truth(in, condition, v->raises_when_true, torch, arena)};
    gg__equality equal;
    if (d.holds.len || gg__has_comment(in->tree, gg_node_span(condition))) return d;
    if (v->raises_when_true && gg_node_is(inner, "not_operator"))
        inner = gg__strip_parentheses(gg__field(inner, "argument"));
    bool asks = v->raises_when_true != ts_node_eq(inner, condition); /* fails unless they are equal */
    if (asks && !v->goes_on && gg__is_equality(in, inner, arena, &equal)) return (demand){equal.shapes, equal.elements};
    bool joins = gg__is_and(in->tree, condition) || (!v->goes_on && gg_node_is(condition, "boolean_operator"));
    return v->raises_when_true && joins ? split(in, condition, torch, arena) : d;
}

/* Is there a case for compiling already? */
static bool is_told_apart(const gg_tree *tree, TSNode statement) {
    for (TSNode at = statement; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at)) {
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
    if (!gg__alone_on_line(in->tree, v.statement) || is_told_apart(in->tree, v.statement) ||
        !gg__can_name(in->tree, v.statement, "torch"))
        return false;
    gg_arena *arena = gg_arena_new();
    bool known = demand_of(in, &v, GG_STR("torch"), arena).holds.len > 0;
    gg_arena_free(arena);
    return known && !gg__may_be_caught(in->tree, v.statement); /* asked last: it may read the whole file */
}

/* ---- the message --------------------------------------------------------------------------------------------------------- */

/* How values come into a text: `"…" % x`, `"…".format(x)`. */
typedef enum style { NO_PLACES = 0, PERCENT = '%', BRACES = '{' } style;

/* The length of a place for a value, or of a doubled sign, that begins here, and what stands for it; 0 when none does. */
static size_t place_at(gg_str s, size_t at, style kind, const char **out) {
    char c = s.ptr[at], next = at + 1 < s.len ? s.ptr[at + 1] : '\0';
    bool brace = kind == BRACES && (c == '{' || c == '}');
    if (!brace && (kind != PERCENT || c != '%')) return 0;
    *out = c == '%' ? "%" : c == '{' ? "{" : "}";
    if (next == c) return 2;
    *out = "...";
    size_t end = at + 1;
    if (brace) {
        while (end < s.len && s.ptr[end] != '}') end++;
        return c == '{' && end < s.len ? end + 1 - at : 0;
    }
    if (next == '(')
        while (end < s.len && s.ptr[end] != ')') end++;
    while (end < s.len && strchr("()#- +.*0123456789hlL", s.ptr[end]) != NULL) end++;
    return end < s.len ? end + 1 - at : 0;
}

/* Source of a string's inside, for a string in double quotes on one line.  Escapes stay as the author wrote them; in a raw string a backslash
 * is itself. */
static void append_content(gg_buf *out, gg_str content, bool raw, style kind) {
    bool escaped = false;
    for (size_t i = 0; i < content.len; i++) {
        char c = content.ptr[i];
        const char *stands;
        size_t place = place_at(content, i, kind, &stands);
        if (place) {
            gg_buf_append_z(out, stands);
            i += place - 1;
            escaped = false;
            continue;
        }
        if ((raw && c == '\\') || (c == '"' && !escaped)) gg_buf_append_char(out, '\\');
        bool continues = !raw && c == '\\' && !escaped && i + 1 < content.len &&
                         (content.ptr[i + 1] == '\n' || content.ptr[i + 1] == '\r'); /* the line goes on */
        escaped = !raw && c == '\\' && !escaped && !continues;
        gg_buf_append_char(out, c == '\n' || c == '\r' || continues ? ' ' : c);
    }
}

static void append_string(gg_buf *out, const gg_tree *tree, TSNode string, style kind) {
    gg_str prefix = gg__text(tree, ts_node_child(string, 0)); /* f", r', … */
    bool raw = gg_str_contains(prefix, GG_STR("r")) || gg_str_contains(prefix, GG_STR("R"));
    for (uint32_t i = 0; i < gg__child_count(string); i++) {
        TSNode part = gg__child(string, i);
        if (gg_node_is(part, "interpolation")) gg_buf_append_z(out, "...");
        if (gg_node_is(part, "string_content")) append_content(out, gg__text(tree, part), raw, kind);
    }
}

/* The string behind `"…" % x`, `"…".format(x)`, and a name that the raising block gives it. */
static TSNode template_of(const gg_tree *tree, TSNode message, TSNode raise, style *kind) {
    if (gg_node_is(message, "identifier"))
        for (TSNode at = ts_node_prev_named_sibling(raise); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
            TSNode assignment = gg__child(at, 0);
            if (!gg_str_equal(gg__text(tree, gg__field(assignment, "left")), gg__text(tree, message))) continue;
            message = gg__field(assignment, "right");
            break;
        }
    message = gg__strip_parentheses(message);
    *kind = NO_PLACES;
    if (gg_node_is(message, "call")) {
        TSNode function = gg__field(message, "function");
        if (gg_str_is(gg__text(tree, gg__field(function, "attribute")), "format")) *kind = BRACES;
        message = gg__field(function, "object");
    }
    if (gg_node_is(message, "binary_operator") && gg_str_is(gg__text(tree, gg__field(message, "operator")), "%")) {
        *kind = PERCENT;
        message = gg__field(message, "left");
    }
    return gg__strip_parentheses(message);
}

/* A constant for the asynchronous assert: the literal parts of the author's message, else the exception's name. */
static gg_str constant_message(const gg_tree *tree, const validation *v, gg_arena *arena) {
    TSNode raised = gg__child(v->raise, 0), arguments = gg__field(raised, "arguments");
    TSNode message = ts_node_is_null(v->raise) ? v->message : gg__child(arguments, 0);
    style kind;
    message = template_of(tree, message, v->raise, &kind);
    gg_buf text;
    gg_buf_init(&text, 4096);
    gg_buf_append_char(&text, '"');
    if (gg_node_is(message, "string")) append_string(&text, tree, message, kind);
    for (uint32_t i = 0; gg_node_is(message, "concatenated_string") && i < gg__child_count(message); i++)
        if (gg_node_is(gg__child(message, i), "string")) append_string(&text, tree, gg__child(message, i), kind);
    TSNode name = gg_node_is(raised, "call") ? gg__field(raised, "function") : raised;
    if (text.len == 1 && gg_node_is(name, "identifier")) gg_buf_append(&text, gg__text(tree, name));
    if (text.len == 1) gg_buf_append_z(&text, "the check failed");
    gg_buf_append_char(&text, '"');
    gg_str out = text.overflow ? GG_STR("\"the check failed\"") : gg_arena_str(arena, gg_buf_str(&text));
    gg_buf_clear(&text);
    return out;
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------ */

/* `if c` → `if not compiling and c`, or `if compiling or c` */
static void guard(const gg_rule_input *in, const validation *v, gg_str compiling, gg_arena *arena, gg_edits *out) {
    gg_span span = gg_node_span(v->condition);
    bool is_or = gg_node_is(v->condition, "boolean_operator") && !gg__is_and(in->tree, v->condition);
    bool wrap =
        v->raises_when_true ? gg__needs_parentheses(v->condition) : gg__needs_parentheses(v->condition) && !is_or;
    bool touches = ts_node_end_byte(ts_node_prev_sibling(v->condition)) == span.start; /* `if(x):` */
    gg_edits_add(out, (gg_span){span.start, span.start},
                 gg_arena_printf(arena, v->raises_when_true ? "%snot %.*s and %s" : "%s%.*s or %s", touches ? " " : "",
                                 GG_STR_ARG(compiling), wrap ? "(" : ""));
    if (wrap) gg_edits_add(out, (gg_span){span.end, span.end}, GG_STR(")"));
}

static int edit(const gg_rule_input *in, const gg_rule_match *found, gg_arena *arena, gg_edits *out, gg_error *err) {
    validation v;
    (void)found;
    if (!match(in, &v)) return gg_fail(err, GG_ENOMATCH, "this is no check");
    gg_str torch = gg__require_module(in->tree, v.statement, "torch", arena, out);
    demand d = demand_of(in, &v, torch, arena);
    gg_str message = constant_message(in->tree, &v, arena), newline = gg__newline(in->tree);
    gg_str compiling = gg_arena_printf(arena, "%.*s.compiler.is_compiling()", GG_STR_ARG(torch));
    uint32_t start = ts_node_start_byte(ts_node_is_null(v.clause) ? v.statement : v.clause);
    gg_str indent = gg__indent(in->tree, start), unit = gg__indent_unit(in->tree);
    gg_str head = gg_arena_printf(arena, "if %.*s%s%.*s:%.*s%.*s%.*s%.*s._assert_async(%.*s, %.*s)%.*s%.*s",
                                  GG_STR_ARG(compiling), d.when.len ? " and " : "", GG_STR_ARG(d.when),
                                  GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(unit), GG_STR_ARG(torch),
                                  GG_STR_ARG(d.holds), GG_STR_ARG(message), GG_STR_ARG(newline), GG_STR_ARG(indent));
    if (ts_node_is_null(v.raise)) /* the author's assert goes into the `else` */
        head = gg_arena_printf(arena, "%.*selse:%.*s%.*s%.*s", GG_STR_ARG(head), GG_STR_ARG(newline),
                               GG_STR_ARG(indent), GG_STR_ARG(unit));
    else if (!ts_node_is_null(v.clause))
        head = gg_arena_printf(arena, "el%.*s", GG_STR_ARG(head));
    else if (v.goes_on)
        guard(in, &v, compiling, arena, out);
    else /* the author's `if` becomes the `elif` */
        head = gg_arena_printf(arena, "%.*sel", GG_STR_ARG(head));
    gg_edits_add(out, (gg_span){start, start}, head);
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
