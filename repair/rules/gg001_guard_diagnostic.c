/* GG001 guard-diagnostic: a message printed, logged or warned inside a graph splits it, and so does a wait, or the collector of garbage.
 * Offers: the message only when not compiling.  Refuses: when the call's value is used, the receiver does not resolve to output or
 * logging, arguments or a condition may change something, or code around it may catch or collect what is said.
 * Safety: effects (the message is skipped under compile).  Page: docs/rules/GG001.md */
#include "repair/slice.h"

/* Does the statement run only when not compiling already? */
static bool is_guarded(const gg_tree *tree, TSNode statement) {
    for (TSNode child = statement, at = gg__parent(statement); !ts_node_is_null(at); child = at, at = gg__parent(at))
        if (gg_node_is(at, "if_statement") && ts_node_eq(gg__field(at, "consequence"), child) &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("not ")) &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("is_compiling()")))
            return true;
    return false;
}

/* A message, or names bound to what is only computed. */
static bool may_join(const gg_rule_input *in, TSNode statement) {
    return gg__is_diagnostic(in, statement) || gg__is_harmless(in->tree, gg__bound_value(statement));
}

static bool is_no_work(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "call") && !gg_node_is(node, "interpolation");
}

/* `limit = 3`: nothing to be skipped, and read by what is. */
static bool is_light(const gg__slice *slice, const gg_tree *tree, size_t index) {
    TSNode value = gg__bound_value(slice->items[index]);
    if (ts_node_is_null(value) || !gg__visit(value, is_no_work, NULL)) return false;
    for (size_t i = 0; i < slice->len; i++) {
        TSNode left = gg__field(gg__child(slice->items[i], 0), "left");
        if (i == index || ts_node_is_null(gg__bound_value(slice->items[i]))) continue;
        for (uint32_t k = 0; k < gg__child_count(left); k++)
            if (gg__reads(tree, value, gg__text(tree, gg__child(left, k)))) return false;
        if (gg__reads(tree, value, gg__text(tree, left))) return false;
    }
    return true;
}

/* What goes under a guard: statements of the slice, or what they fill; in the order of the text. */
typedef struct targets {
    TSNode items[GG__MAX_SLICE];
    size_t len;
} targets;

static void find_targets(const gg_rule_input *in, const gg__slice *slice, const gg__slice *beside, targets *out) {
    for (size_t i = 0; i < slice->len; i++) {
        TSNode target = slice->items[i];
        if (is_light(slice, in->tree, i)) continue;
        for (TSNode at = target; !gg_node_is(at, "function_definition"); at = gg__parent(at))
            if (gg__slice_fills(in, beside, at)) target = at;
        if (out->len == 0 || !ts_node_eq(out->items[out->len - 1], target)) out->items[out->len++] = target;
    }
}

static bool is_target(const targets *t, TSNode node) {
    for (size_t i = 0; i < t->len; i++)
        if (ts_node_eq(t->items[i], node)) return true;
    return false;
}

static bool is_plain_if(TSNode node) {
    return gg_node_is(node, "if_statement") && ts_node_is_null(gg__field(node, "alternative"));
}

/* The last of the statements that share a line, behind one that starts it: `import pdb; pdb.set_trace()`. */
static bool ends_shared_line(const gg_tree *tree, TSNode statement) {
    TSNode before = ts_node_prev_named_sibling(statement);
    gg_str line = gg_text_bytes(gg_tree_text(tree));
    uint32_t at = ts_node_end_byte(statement);
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t')) at++;
    bool last = at >= line.len || line.ptr[at] == '\n' || line.ptr[at] == '\r' || line.ptr[at] == '#';
    return last && !ts_node_is_null(before) && !gg_node_is(before, "comment") &&
           ts_node_end_point(before).row == ts_node_start_point(statement).row &&
           gg__starts_line(tree, ts_node_start_byte(before)) && gg_node_is(gg__parent(statement), "block");
}

static bool can_be_guarded(const gg_rule_input *in, TSNode target) {
    return !gg__is_heard(in, target) && !is_guarded(in->tree, target) &&
           (gg__alone_on_line(in->tree, target) || is_plain_if(target) || ends_shared_line(in->tree, target));
}

/* The messages around the site with what they are made of; false when there are none, or one cannot be guarded. */
static bool find(const gg_rule_input *in, targets *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span));
    gg__slice slice, beside;
    bool says = false;
    out->len = 0;
    if (ts_node_is_null(statement) || !gg__can_name(in->tree, statement, "torch") ||
        (is_plain_if(statement) && in->span.end > ts_node_end_byte(gg__field(statement, "condition"))) ||
        !gg__slice_around(in, statement, may_join, &slice, &beside))
        return false;
    for (size_t i = 0; i < slice.len; i++) says = says || gg__is_diagnostic(in, slice.items[i]);
    find_targets(in, &slice, &beside, out);
    for (size_t i = 0; i < out->len; i++)
        if (!can_be_guarded(in, out->items[i])) return false;
    return says && out->len > 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    targets t;
    out->node = gg__statement(gg_node_at(in->tree, in->span));
    return find(in, &t);
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

/* Does the same guard stand right in front, with a block that can go on? */
static bool follows_guard(const gg_tree *tree, TSNode statement, gg_str guard, gg_str indent) {
    TSNode before = ts_node_prev_named_sibling(statement), block = gg__field(before, "consequence");
    if (!is_plain_if(before) || !gg_str_equal(gg__text(tree, gg__field(before, "condition")), guard)) return false;
    uint32_t start = ts_node_start_byte(block);
    return gg__starts_line(tree, start) && gg_str_equal(gg__indent(tree, start), indent);
}

/* From one on, what follows at once and is to be guarded too goes under the same guard. */
static TSNode guard_statements(const gg_rule_input *in, const targets *t, TSNode first, gg_str guard, gg_arena *arena,
                               gg_edits *out) {
    const gg_tree *tree = in->tree;
    uint32_t start = ts_node_start_byte(first), from = start;
    TSNode before = ts_node_prev_named_sibling(first);
    gg_str indent = gg__indent(tree, start), unit = gg__indent_unit(tree), newline = gg__newline(tree);
    bool shares = !gg__starts_line(tree, start);
    if (shares) from = ts_node_end_byte(before);
    gg_str inner = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(indent), GG_STR_ARG(unit));
    if (!shares && follows_guard(tree, first, guard, inner))
        gg_edits_add(out, (gg_span){start, start}, unit);
    else
        gg_edits_add(out, (gg_span){from, start},
                     gg_arena_printf(arena, "%.*s%.*sif %.*s:%.*s%.*s", GG_STR_ARG(shares ? newline : GG_STR_NULL),
                                     GG_STR_ARG(shares ? indent : GG_STR_NULL), GG_STR_ARG(guard), GG_STR_ARG(newline),
                                     GG_STR_ARG(inner)));
    for (TSNode at = first;;) {
        indent_rest(tree, at, unit, out);
        TSNode next = ts_node_next_named_sibling(at);
        bool joins = is_target(t, next) || (gg__is_diagnostic(in, next) && !gg__is_heard(in, next));
        if (ts_node_is_null(next) || !joins || !gg__alone_on_line(tree, next)) return at;
        gg_edits_add(out, (gg_span){ts_node_start_byte(next), ts_node_start_byte(next)}, unit);
        at = next;
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    targets t;
    if (!find(in, &t)) return gg_fail(err, GG_ENOMATCH, "this is more than a message");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_str guard = gg_arena_printf(arena, "not %.*s.compiler.is_compiling()", GG_STR_ARG(torch));
    uint32_t done = 0;
    for (size_t i = 0; i < t.len; i++) {
        TSNode target = t.items[i];
        if (ts_node_start_byte(target) < done) continue;
        if (is_plain_if(target))
            guard_condition(gg__field(target, "condition"), guard, arena, out);
        else
            target = guard_statements(in, &t, target, guard, arena, out);
        done = ts_node_end_byte(target);
    }
    return 0;
}

const gg_rule gg_rule_guard_diagnostic = {
    .code = "GG001",
    .name = "guard-diagnostic",
    .title = "Skip this message while compiling",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
