/* From an instruction's position to the range a reader would underline.
 *
 * CPython 3.11+ gives each instruction the range of the expression it computes, with three quirks: a method call in a chain over
 * several lines begins at the last name, a jump may carry the whole statement, and some instructions carry none.  3.10 gives
 * lines only.  The tree settles all of them.
 * Threads: any. */
#include <string.h>

#include "analysis/private.h"

static const char bom[] = "\xEF\xBB\xBF";

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* ---- what stands for a node ---- */
static TSNode field(TSNode node, const char *name) {
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

/* First named child that is not a comment; null node when none. */
static TSNode first_child(TSNode node) {
    for (uint32_t i = 0, n = ts_node_named_child_count(node); i < n; i++) {
        TSNode child = ts_node_named_child(node, i);
        if (!gg_node_is(child, "comment")) return child;
    }
    return (TSNode){0};
}

/* What a part of an expression or statement that cannot be marked by itself stands for; null node when it can. */
static TSNode whole_of(TSNode node) {
    TSNode parent = ts_node_parent(node);
    if (ts_node_is_null(parent)) return (TSNode){0};
    if (gg_node_is(node, "argument_list")) return gg_node_is(parent, "call") ? parent : (TSNode){0};
    if (gg_node_is(node, "slice")) return gg_node_is(parent, "subscript") ? parent : (TSNode){0};
    if (gg_node_is(node, "identifier") || gg_node_is(node, "attribute")) { /* what is called: the call is */
        bool called = gg_node_is(parent, "call") && ts_node_eq(field(parent, "function"), node);
        return called ? parent : (TSNode){0};
    }
    if (gg_node_is(node, "pattern_list") || gg_node_is(node, "tuple_pattern") || gg_node_is(node, "list_pattern")) {
        TSNode left = field(parent, "left");
        if (!ts_node_is_null(left) && ts_node_eq(left, node)) return field(parent, "right");
    }
    return (TSNode){0};
}

/* One step from a node towards the expression that stands for it; the node itself when it already does. */
static TSNode header_step(TSNode node) {
    static const struct {
        const char *type, *field; /* field NULL: the first named child */
    } steps[] = {
        {"if_statement", "condition"},
        {"elif_clause", "condition"},
        {"while_statement", "condition"},
        {"for_statement", "right"},
        {"assignment", "right"},
        {"for_in_clause", "right"},
        {"function_definition", "name"},
        {"class_definition", "name"},
        {"decorated_definition", "definition"},
        {"keyword_argument", "value"},
        {"match_statement", "subject"},
        {"with_statement", NULL},
        {"with_clause", NULL},
        {"as_pattern", NULL},
        {"with_item", "value"},
        {"expression_statement", NULL},
        {"return_statement", NULL},
        {"assert_statement", NULL},
        {"raise_statement", NULL},
        {"parenthesized_expression", NULL},
        {"if_clause", NULL},
        {"decorator", NULL},
        {"delete_statement", NULL},
        {"module", NULL},
    };
    TSNode next = whole_of(node);
    for (size_t i = 0; i < GG_COUNT(steps); i++) {
        if (!gg_node_is(node, steps[i].type)) continue;
        next = steps[i].field ? field(node, steps[i].field) : first_child(node);
    }
    return ts_node_is_null(next) ? node : next;
}

TSNode gg__header_expression(TSNode node) {
    for (int i = 0; i < 16 && !ts_node_is_null(node); i++) { /* the deepest real chain has 5 steps */
        TSNode next = header_step(node);
        if (ts_node_eq(next, node)) break;
        node = next;
    }
    return node;
}

/* ---- positions ---- */
static uint32_t offset_of(const gg_text *text, uint32_t line, int32_t col) {
    uint32_t index = line > 0 ? line - 1 : 0;
    if (index == 0 && gg_str_starts_with(gg_text_bytes(text), GG_STR(bom))) col += 3; /* CPython counts after it */
    return gg_text_offset(text, (gg_position){index, (uint32_t)col}, GG_UTF8);
}

static gg_span trim(const gg_text *text, gg_span span) {
    const char *bytes = gg_text_bytes(text).ptr;
    while (span.start < span.end && is_space(bytes[span.start])) span.start++;
    while (span.end > span.start && is_space(bytes[span.end - 1])) span.end--;
    return span;
}

/* The line's content as a span, white space and BOM off. */
static gg_span line_span(const gg_text *text, uint32_t line) {
    gg_span span = {offset_of(text, line, 0), offset_of(text, line, INT32_MAX - 3)};
    return trim(text, span);
}

/* The largest named node that starts at `start` and ends no later than `end`; null node when none starts there. */
static TSNode largest_from(const gg_tree *tree, uint32_t start, uint32_t end) {
    TSNode node = gg_node_at(tree, (gg_span){start, start < end ? start + 1 : start});
    TSNode best = {0};
    for (; !ts_node_is_null(node) && ts_node_start_byte(node) == start; node = ts_node_parent(node)) {
        if (ts_node_end_byte(node) > end) break;
        if (gg_node_is(node, "module") || gg_node_is(node, "block")) break;
        best = node;
    }
    return best;
}

static bool ends_with(const char *type, const char *suffix) {
    size_t a = strlen(type), b = strlen(suffix);
    return a >= b && strcmp(type + a - b, suffix) == 0;
}

/* Nodes that hold statements: a range that covers part of one is better left as it is. */
static bool holds_statements(TSNode node) {
    const char *type = ts_node_type(node);
    return ends_with(type, "_statement") || ends_with(type, "_clause") || ends_with(type, "_definition") ||
           strcmp(type, "block") == 0 || strcmp(type, "module") == 0 || strcmp(type, "ERROR") == 0;
}

static gg_span header_of_line(const gg_tree *tree, uint32_t line) {
    gg_span span = line_span(gg_tree_text(tree), line);
    TSNode node = largest_from(tree, span.start, UINT32_MAX);
    if (ts_node_is_null(node)) return span; /* a closing bracket, an empty line */
    node = gg__header_expression(node);
    return holds_statements(node) && ts_node_end_byte(node) > span.end ? span
                                                                       : gg_node_span(node); /* `else:`, `try:` */
}

gg_span gg_refine_range(const gg_tree *tree, uint32_t line, uint32_t end_line, int32_t col, int32_t end_col) {
    const gg_text *text = gg_tree_text(tree);
    if (line == 0) line = 1;
    if (line > gg_text_line_count(text)) line = gg_text_line_count(text);
    if (end_line < line) end_line = line;
    if (col < 0 || end_col < 0) return header_of_line(tree, line);

    gg_span span = trim(text, (gg_span){offset_of(text, line, col), offset_of(text, end_line, end_col)});
    if (span.start >= span.end) return header_of_line(tree, line);

    TSNode covering = gg_node_at(tree, span);
    gg_span covered = gg_node_span(covering);
    bool exact = covered.start == span.start && covered.end == span.end;
    if (!exact && holds_statements(covering)) { /* an `elif` with what follows it; several arguments; … */
        TSNode part = largest_from(tree, span.start, span.end);
        bool is_header =
            covered.start == span.start && !gg_node_is(covering, "module") && !gg_node_is(covering, "block");
        if (ts_node_is_null(part) && !is_header) return span;
        if (!ts_node_is_null(part)) covering = part; /* else the head of a compound statement: `class A(B):` */
    }
    TSNode header = gg__header_expression(covering);
    return gg_node_is(header, "ERROR") ? span : gg_node_span(header);
}
