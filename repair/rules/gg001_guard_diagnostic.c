/* GG001 guard-diagnostic: a message printed, logged or warned inside a graph splits it.
 * Offers: the message only when not compiling.  Refuses: when the call's value is used, or the receiver does not resolve to output or
 * logging.  Safety: effects (the message is skipped under compile).  Page: docs/rules/GG001.md */
#include "repair/syntax.h"

/* The diagnostic statement the site lies in, or an `if` that does nothing but diagnose and whose condition is the site. */
static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span));
    if (gg__is_diagnostic(in->tree, statement)) {
        out->node = statement;
        return true;
    }
    bool branch = gg_node_is(statement, "if_statement") && ts_node_is_null(gg__field(statement, "alternative")) &&
                  gg__only_diagnostics(in->tree, gg__field(statement, "consequence"));
    out->node = statement;
    return branch && in->span.end <= ts_node_end_byte(gg__field(statement, "condition"));
}

/* `if x: print(y)` → `if not …is_compiling() and x: print(y)` */
static void guard_condition(const gg_rule_input *in, TSNode condition, gg_str guard, gg_arena *arena, gg_edits *out) {
    gg_span span = gg_node_span(condition);
    bool wrap = gg__needs_parentheses(condition);
    gg_edits_add(out, (gg_span){span.start, span.start},
                 gg_arena_printf(arena, "%.*s and %s", GG_STR_ARG(guard), wrap ? "(" : ""));
    if (wrap) gg_edits_add(out, (gg_span){span.end, span.end}, GG_STR(")"));
    (void)in;
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

static bool alone_on_line(const gg_tree *tree, TSNode statement) {
    if (!gg__starts_line(tree, ts_node_start_byte(statement))) return false;
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    uint32_t at = ts_node_end_byte(statement);
    while (at < all.len && (all.ptr[at] == ' ' || all.ptr[at] == '\t')) at++;
    return at >= all.len || all.ptr[at] != ';';
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
        if (!gg__is_diagnostic(tree, next) || !alone_on_line(tree, next)) return 0;
        gg_edits_add(out, (gg_span){ts_node_start_byte(next), ts_node_start_byte(next)}, unit);
        at = next;
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg_str torch = gg__require_module(in->tree, "torch", arena, out);
    gg_str guard = gg_arena_printf(arena, "not %.*s.compiler.is_compiling()", GG_STR_ARG(torch));
    TSNode statement = match->node;
    if (gg_node_is(statement, "if_statement")) {
        guard_condition(in, gg__field(statement, "condition"), guard, arena, out);
        return 0;
    }
    TSNode block = ts_node_parent(statement), owner = ts_node_parent(block);
    bool own_if = gg_node_is(block, "block") && gg_node_is(owner, "if_statement") &&
                  ts_node_is_null(gg__field(owner, "alternative")) && gg__only_diagnostics(in->tree, block);
    if (own_if) {
        guard_condition(in, gg__field(owner, "condition"), guard, arena, out);
        return 0;
    }
    if (!alone_on_line(in->tree, statement))
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
