/* See syntax.h. */
#include "repair/syntax.h"

TSNode gg__field(TSNode node, const char *name) {
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

TSNode gg__statement(TSNode node) {
    while (!ts_node_is_null(node)) {
        TSNode parent = ts_node_parent(node);
        if (gg_node_is(parent, "block") || gg_node_is(parent, "module")) return node;
        node = parent;
    }
    return node;
}

TSNode gg__function(TSNode node) {
    for (TSNode at = node; !ts_node_is_null(at); at = ts_node_parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda")) return at;
        node = at;
    }
    return node;
}

TSNode gg__strip_parentheses(TSNode node) {
    while (gg_node_is(node, "parenthesized_expression") && ts_node_named_child_count(node) == 1)
        node = ts_node_named_child(node, 0);
    return node;
}

uint32_t gg__statement_count(TSNode block) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ts_node_named_child_count(block); i++)
        count += !gg_node_is(ts_node_named_child(block, i), "comment");
    return count;
}

TSNode gg__only_statement(TSNode block) {
    TSNode found = {0};
    for (uint32_t i = 0; i < ts_node_named_child_count(block); i++) {
        TSNode child = ts_node_named_child(block, i);
        if (gg_node_is(child, "comment")) continue;
        if (!ts_node_is_null(found)) return (TSNode){0};
        found = child;
    }
    return found;
}

static uint32_t line_start(const gg_tree *tree, uint32_t offset) {
    const gg_text *text = gg_tree_text(tree);
    return gg_text_line_start(text, gg_text_position(text, offset, GG_UTF8).line);
}

gg_str gg__indent(const gg_tree *tree, uint32_t offset) {
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    uint32_t start = line_start(tree, offset), end = start;
    while (end < all.len && (all.ptr[end] == ' ' || all.ptr[end] == '\t' || all.ptr[end] == '\f')) end++;
    return gg_str_slice(all, start, end);
}

bool gg__starts_line(const gg_tree *tree, uint32_t offset) {
    return line_start(tree, offset) + gg__indent(tree, offset).len == offset;
}

typedef struct unit_search {
    const gg_tree *tree;
    gg_str unit;
} unit_search;

static bool find_unit(TSNode node, void *data) {
    unit_search *search = data;
    TSNode parent = ts_node_parent(node);
    if (!gg_node_is(node, "block") || ts_node_is_null(parent)) return true;
    gg_str inner = gg__indent(search->tree, ts_node_start_byte(node)),
           outer = gg__indent(search->tree, ts_node_start_byte(parent));
    if (inner.len <= outer.len) return true; /* on the same line */
    search->unit = gg_str_slice(inner, outer.len, inner.len);
    return false;
}

gg_str gg__indent_unit(const gg_tree *tree) {
    unit_search search = {tree, GG_STR("    ")};
    gg__visit(gg_tree_root(tree), find_unit, &search);
    return search.unit;
}

gg_str gg__newline(const gg_tree *tree) {
    return gg_str_contains(gg_text_bytes(gg_tree_text(tree)), GG_STR("\r\n")) ? GG_STR("\r\n") : GG_STR("\n");
}

bool gg__visit(TSNode node, gg__visitor visit, void *data) {
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    bool going = true;
    for (bool more = true; more;) {
        TSNode at = ts_tree_cursor_current_node(&cursor);
        if (ts_node_is_named(at) && !visit(at, data)) {
            going = false;
            break;
        }
        if (ts_tree_cursor_goto_first_child(&cursor)) continue;
        while (!ts_tree_cursor_goto_next_sibling(&cursor))
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                more = false;
                break;
            }
    }
    ts_tree_cursor_delete(&cursor);
    return going;
}

typedef struct name_search {
    const gg_tree *tree;
    gg_str name;
} name_search;

static bool differs(TSNode node, void *data) {
    const name_search *search = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg_node_text(search->tree, node), search->name)) return true;
    TSNode parent = ts_node_parent(node); /* `x.name` and `f(name=…)` do not read the variable */
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    return gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node);
}

bool gg__reads(const gg_tree *tree, TSNode node, gg_str name) {
    name_search search = {tree, name};
    return !ts_node_is_null(node) && !gg__visit(node, differs, &search);
}

/* In-place changes: augmented assignment, item assignment, a method whose name ends in an underscore. */
typedef struct mutations {
    const gg_tree *tree;
    gg_str name;
    bool found;
} mutations;

static bool not_mutated(TSNode node, void *data) {
    mutations *m = data;
    TSNode target = {0};
    if (gg_node_is(node, "augmented_assignment"))
        target = gg__field(node, "left");
    else if (gg_node_is(node, "assignment") && gg_node_is(gg__field(node, "left"), "subscript"))
        target = gg__field(node, "left");
    else if (gg_node_is(node, "attribute") &&
             gg_str_ends_with(gg_node_text(m->tree, gg__field(node, "attribute")), GG_STR("_")))
        target = gg__field(node, "object");
    m->found = !ts_node_is_null(target) && gg__reads(m->tree, target, m->name);
    return !m->found;
}

bool gg__mutates(const gg_tree *tree, TSNode scope, gg_str name) {
    mutations m = {tree, name, false};
    gg__visit(scope, not_mutated, &m);
    return m.found;
}

static bool is_no_comment_inside(TSNode node, void *data) {
    const gg_span *span = data;
    return !gg_node_is(node, "comment") || ts_node_start_byte(node) < span->start || ts_node_end_byte(node) > span->end;
}

bool gg__has_comment(const gg_tree *tree, gg_span span) {
    return !gg__visit(gg_node_at(tree, span), is_no_comment_inside, &span);
}

bool gg__needs_parentheses(TSNode node) {
    static const char *const loose[] = {"boolean_operator", "conditional_expression", "lambda", "named_expression",
                                        "not_operator"};
    for (size_t i = 0; i < GG_COUNT(loose); i++)
        if (gg_node_is(node, loose[i])) return true;
    return false;
}
