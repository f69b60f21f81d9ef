/* GG001 guard-diagnostic: a message printed, logged or warned inside a graph splits it.
 * Offers: the message only when not compiling.  Refuses: when the call's value is used, the receiver does not resolve to output or
 * logging, arguments or a condition may change something, or code around it may catch or collect what is said.
 * Safety: effects (the message is skipped under compile).  Page: docs/rules/GG001.md */
#include "repair/syntax.h"

/* Does the statement run only when not compiling already? */
static bool is_guarded(const gg_tree *tree, TSNode statement) {
    for (TSNode child = statement, at = gg__parent(statement); !ts_node_is_null(at); child = at, at = gg__parent(at))
        if (gg_node_is(at, "if_statement") && ts_node_eq(gg__field(at, "consequence"), child) &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("not ")) &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("is_compiling()")))
            return true;
    return false;
}

/* The condition of the `if` that does nothing but diagnose and holds the statement; null when there is none to guard as a whole. */
static TSNode own_condition(const gg_rule_input *in, TSNode statement) {
    TSNode block = gg__parent(statement), owner = gg__parent(block);
    bool own = gg_node_is(block, "block") && gg_node_is(owner, "if_statement") &&
               ts_node_is_null(gg__field(owner, "alternative")) && gg__only_diagnostics(in, block) &&
               gg__is_harmless(in->tree, gg__field(owner, "condition"));
    return own ? gg__field(owner, "condition") : (TSNode){0};
}

/* The diagnostic statement the site lies in, or an `if` that does nothing but diagnose and whose condition is the site. */
static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), condition = gg__field(statement, "condition");
    out->node = statement;
    if (ts_node_is_null(statement) || !gg__can_name(in->tree, statement, "torch") ||
        gg__is_watched(in->tree, statement) || is_guarded(in->tree, statement))
        return false;
    if (gg__is_diagnostic(in, statement))
        return gg__alone_on_line(in->tree, statement) || !ts_node_is_null(own_condition(in, statement));
    return gg_node_is(statement, "if_statement") && ts_node_is_null(gg__field(statement, "alternative")) &&
           gg__only_diagnostics(in, gg__field(statement, "consequence")) && gg__is_harmless(in->tree, condition) &&
           in->span.end <= ts_node_end_byte(condition);
}

/* `if x: print(y)` → `if not …is_compiling() and x: print(y)` */
static void guard_condition(TSNode condition, gg_str guard, gg_arena *arena, gg_edits *out) {
    gg_span span = gg_node_span(condition);
    bool wrap = gg__needs_parentheses(condition);
    bool touches_if = ts_node_end_byte(ts_node_prev_sibling(condition)) == span.start; /* `if(x):` */
    gg_edits_add(out, (gg_span){span.start, span.start},
                 gg_arena_printf(arena, "%s%.*s and %s", touches_if ? " " : "", GG_STR_ARG(guard), wrap ? "(" : ""));
    if (wrap) gg_edits_add(out, (gg_span){span.end, span.end}, GG_STR(")"));
}

typedef struct string_lines {
    const gg_tree *tree;
    uint32_t line;
    bool inside;
} string_lines;

/* Does a string run over the start of this line?  Then its white space is the string's. */
static bool outside_string(TSNode node, void *data) {
    string_lines *search = data;
    if (!gg_node_is(node, "string")) return true;
    const gg_text *text = gg_tree_text(search->tree);
    uint32_t start = gg_text_line_start(text, search->line);
    search->inside = search->inside || (ts_node_start_byte(node) < start && ts_node_end_byte(node) > start);
    return !search->inside;
}

/* Puts one more level in front of the lines of [first, last] after the first one. */
static void indent_rest(const gg_tree *tree, TSNode node, gg_str unit, gg_edits *out) {
    const gg_text *text = gg_tree_text(tree);
    uint32_t first = gg_text_position(text, ts_node_start_byte(node), GG_UTF8).line;
    uint32_t last = gg_text_position(text, ts_node_end_byte(node), GG_UTF8).line;
    for (uint32_t line = first + 1; line <= last; line++) {
        string_lines search = {tree, line, false};
        gg__visit(node, outside_string, &search);
        uint32_t start = gg_text_line_start(text, line);
        if (!search.inside && gg_str_trim(gg_text_line(text, line)).len)
            gg_edits_add(out, (gg_span){start, start}, unit);
    }
}

/* Consecutive diagnostics go under one guard. */
static int guard_statements(const gg_rule_input *in, TSNode first, gg_str guard, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = in->tree;
    gg_str indent = gg__indent(tree, ts_node_start_byte(first)), unit = gg__indent_unit(tree),
           newline = gg__newline(tree);
    uint32_t start = ts_node_start_byte(first);
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(arena, "if %.*s:%.*s%.*s%.*s", GG_STR_ARG(guard), GG_STR_ARG(newline),
                                 GG_STR_ARG(indent), GG_STR_ARG(unit)));
    for (TSNode at = first;;) {
        indent_rest(tree, at, unit, out);
        TSNode next = ts_node_next_named_sibling(at);
        if (!gg__is_diagnostic(in, next) || !gg__alone_on_line(tree, next)) return 0;
        gg_edits_add(out, (gg_span){ts_node_start_byte(next), ts_node_start_byte(next)}, unit);
        at = next;
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_str guard = gg_arena_printf(arena, "not %.*s.compiler.is_compiling()", GG_STR_ARG(torch));
    TSNode statement = match->node;
    if (gg_node_is(statement, "if_statement")) {
        guard_condition(gg__field(statement, "condition"), guard, arena, out);
        return 0;
    }
    TSNode condition = own_condition(in, statement);
    if (!ts_node_is_null(condition)) {
        guard_condition(condition, guard, arena, out);
        return 0;
    }
    if (!gg__alone_on_line(in->tree, statement))
        return gg_fail(err, GG_ENOMATCH, "the message shares its line with other statements");
    return guard_statements(in, statement, guard, arena, out);
}

const gg_rule gg_rule_guard_diagnostic = {
    .code = "GG001",
    .name = "guard-diagnostic",
    .title = "Skip this message while compiling",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
