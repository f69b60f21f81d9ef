/* See syntax.h. */
#include "repair/syntax.h"

#include <ctype.h>

TSNode gg__field(TSNode node, const char *name) {
    if (ts_node_is_null(node)) return node;
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

TSNode gg__parent(TSNode node) {
    return ts_node_is_null(node) ? node : ts_node_parent(node);
}

bool gg__is_comprehension(TSNode node) {
    static const char *const kinds[] = {"list_comprehension", "set_comprehension", "dictionary_comprehension",
                                        "generator_expression"};
    for (size_t i = 0; i < GG_COUNT(kinds); i++)
        if (gg_node_is(node, kinds[i])) return true;
    return false;
}

bool gg__is_operator(TSNode node) {
    return gg_node_is(node, "binary_operator") || gg_node_is(node, "unary_operator") ||
           gg_node_is(node, "comparison_operator");
}

bool gg__is_target(TSNode node) {
    static const char *const others[] = {"pattern_list",  "tuple_pattern",    "list_pattern",
                                         "for_statement", "delete_statement", "as_pattern_target"};
    TSNode parent = gg__parent(node);
    bool assigned = gg_node_is(parent, "assignment") || gg_node_is(parent, "augmented_assignment");
    for (size_t i = 0; i < GG_COUNT(others); i++)
        if (gg_node_is(parent, others[i])) return true;
    return assigned && ts_node_eq(gg__field(parent, "left"), node);
}

TSNode gg__child(TSNode node, uint32_t i) {
    return ts_node_is_null(node) ? node : ts_node_named_child(node, i);
}

uint32_t gg__child_count(TSNode node) {
    return ts_node_is_null(node) ? 0 : ts_node_named_child_count(node);
}

gg_str gg__text(const gg_tree *tree, TSNode node) {
    return ts_node_is_null(node) ? GG_STR_NULL : gg_node_text(tree, node);
}

TSNode gg__statement(TSNode node) {
    while (!ts_node_is_null(node)) {
        TSNode parent = gg__parent(node);
        if (gg_node_is(parent, "block") || gg_node_is(parent, "module")) return node;
        node = parent;
    }
    return node;
}

bool gg__is_one_of(gg_str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_is(text, words[i])) return true;
    return false;
}

bool gg__is_in_inner_function(TSNode node, TSNode scope) {
    for (TSNode at = node; !ts_node_is_null(at) && !ts_node_eq(at, scope); at = gg__parent(at))
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda")) return true;
    return false;
}

TSNode gg__function(TSNode node) {
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda")) return at;
        node = at;
    }
    return node;
}

bool gg__covers(TSNode node, gg_span span) {
    return !ts_node_is_null(node) && ts_node_start_byte(node) <= span.start && span.end <= ts_node_end_byte(node);
}

TSNode gg__strip_parentheses(TSNode node) {
    while (gg_node_is(node, "parenthesized_expression") && gg__child_count(node) == 1) node = gg__child(node, 0);
    return node;
}

uint32_t gg__statement_count(TSNode block) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < gg__child_count(block); i++) count += !gg_node_is(gg__child(block, i), "comment");
    return count;
}

TSNode gg__only_statement(TSNode block) {
    TSNode found = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i);
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
    TSNode parent = gg__parent(node);
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
    if (ts_node_is_null(node)) return true;
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

bool gg__is_no_long_text(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "string") || ts_node_start_point(node).row == ts_node_end_point(node).row;
}

bool gg__stop(TSNode node, void *data) {
    (void)node, (void)data;
    return false;
}

TSNode gg__next_statement(TSNode statement) {
    TSNode next = ts_node_next_named_sibling(statement);
    while (gg_node_is(next, "comment")) next = ts_node_next_named_sibling(next);
    return next;
}

TSNode gg__class_around(TSNode node) {
    TSNode at = gg__parent(node);
    while (!ts_node_is_null(at) && !gg_node_is(at, "class_definition")) at = gg__parent(at);
    return at;
}

TSNode gg__parameter(const gg_tree *tree, TSNode function, gg_str name) {
    TSNode parameters = gg__field(function, "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode parameter = gg__child(parameters, i), named = gg__field(parameter, "name");
        if (ts_node_is_null(named)) named = gg_node_is(parameter, "identifier") ? parameter : gg__child(parameter, 0);
        if (gg_str_equal(gg__text(tree, named), name)) return parameter;
    }
    return (TSNode){0};
}

uint32_t gg__place_of_parameter(TSNode parameters, TSNode parameter) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode child = gg__child(parameters, i);
        if (ts_node_eq(child, parameter)) break;
        place += !gg_node_is(child, "comment");
    }
    return place;
}

typedef struct name_search {
    const gg_tree *tree;
    gg_str name;
} name_search;

static bool differs(TSNode node, void *data) {
    const name_search *search = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(search->tree, node), search->name)) return true;
    TSNode parent = gg__parent(node); /* `x.name` and `f(name=…)` do not read the variable */
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    return gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node);
}

bool gg__reads(const gg_tree *tree, TSNode node, gg_str name) {
    name_search search = {tree, name};
    return !ts_node_is_null(node) && !gg__visit(node, differs, &search);
}

bool gg__reads_path(const gg_tree *tree, TSNode node, gg_str path) {
    if (gg_str_contains(path, GG_STR("."))) return gg_str_contains(gg__text(tree, node), path);
    return gg__reads(tree, node, path);
}

const gg_fact *gg__fact_of(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site ? in->site->first : NULL;
    for (size_t i = 0; record && i < record->fact_count; i++)
        if (gg_str_equal(record->facts[i].name, name)) return &record->facts[i];
    return NULL;
}

static bool is_no_comment_inside(TSNode node, void *data) {
    const gg_span *span = data;
    return !gg_node_is(node, "comment") || ts_node_start_byte(node) < span->start || ts_node_end_byte(node) > span->end;
}

bool gg__has_comment(const gg_tree *tree, gg_span span) {
    return !gg__visit(gg_node_at(tree, span), is_no_comment_inside, &span);
}

bool gg__alone_on_line(const gg_tree *tree, TSNode statement) {
    if (!gg__starts_line(tree, ts_node_start_byte(statement))) return false;
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    uint32_t at = ts_node_end_byte(statement);
    while (at < all.len && (all.ptr[at] == ' ' || all.ptr[at] == '\t')) at++;
    return at >= all.len || all.ptr[at] != ';';
}

void gg__delete_lines(const gg_tree *tree, gg_span span, gg_edits *edits) {
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    uint32_t end = span.end;
    while (end < all.len && (all.ptr[end] == ' ' || all.ptr[end] == '\t' || all.ptr[end] == '\r')) end++;
    if (end < all.len && all.ptr[end] == '#')
        span.end = end;
    else
        span = (gg_span){line_start(tree, span.start), end < all.len ? end + 1 : end};
    gg_edits_add(edits, span, GG_STR_NULL);
}

void gg__delete_statement(const gg_tree *tree, TSNode statement, gg_edits *edits) {
    gg_span span = gg_node_span(statement);
    if (gg__alone_on_line(tree, statement) && gg__statement_count(gg__parent(statement)) > 1)
        gg__delete_lines(tree, span, edits);
    else
        gg_edits_add(edits, span, GG_STR("pass"));
}

typedef struct comment_search {
    const gg_tree *tree;
    gg_span span;
    const TSNode *kept;
    size_t count;
    gg_buf *out;
} comment_search;

static bool collect_comment(TSNode node, void *data) {
    comment_search *c = data;
    gg_span at = gg_node_span(node);
    if (!gg_node_is(node, "comment") || at.start < c->span.start || at.end > c->span.end) return true;
    for (size_t i = 0; i < c->count; i++) {
        if (ts_node_is_null(c->kept[i])) continue;
        gg_span kept = gg_node_span(c->kept[i]);
        if (kept.start <= at.start && at.end <= kept.end) return true;
    }
    gg_str newline = gg__newline(c->tree), indent = gg__indent(c->tree, c->span.start);
    gg_buf_append(c->out, gg__text(c->tree, node));
    gg_buf_append(c->out, newline);
    gg_buf_append(c->out, indent);
    return true;
}

gg_str gg__comments(const gg_tree *tree, gg_span span, const TSNode *kept, size_t count, gg_arena *arena) {
    gg_buf text;
    gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
    comment_search search = {tree, span, kept, count, &text};
    gg__visit(gg_node_at(tree, span), collect_comment, &search);
    gg_str out = gg_arena_str(arena, gg_buf_str(&text));
    gg_buf_clear(&text);
    return out;
}

bool gg__needs_parentheses(TSNode node) {
    static const char *const loose[] = {"boolean_operator", "conditional_expression", "lambda", "named_expression",
                                        "not_operator"};
    for (size_t i = 0; i < GG_COUNT(loose); i++)
        if (gg_node_is(node, loose[i])) return true;
    return false;
}

uint32_t gg__line_end(const gg_tree *tree, uint32_t offset) {
    gg_str text = gg_text_bytes(gg_tree_text(tree));
    uint32_t end = offset;
    while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') end++;
    gg_str behind = gg_str_trim(gg_str_slice(text, offset, end));
    return gg_str_starts_with(behind, GG_STR("#")) ? end : offset;
}

bool gg__is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

void gg__indent_lines(const gg_tree *tree, uint32_t from, uint32_t to, gg_str unit, gg_edits *edits) {
    const gg_text *text = gg_tree_text(tree);
    for (uint32_t row = from; row <= to; row++) {
        uint32_t at = gg_text_line_start(text, row);
        if (gg_str_trim(gg_text_line(text, row)).len) gg_edits_add(edits, (gg_span){at, at}, unit);
    }
}
