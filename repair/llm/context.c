/* What a definition needs of its module: the imports, names and helpers it reads, and what those read.  Any thread.
 *
 * What only tests read (example inputs, the lines under `__main__`) is never among it. */
#include "repair/llm/exchange.h"

enum { MAX_NAMES = 512, MAX_STATEMENT_BYTES = 4096, PASSES = 3 };

typedef struct names {
    const gg_tree *tree;
    gg_str items[MAX_NAMES];
    size_t len;
    bool bound; /* collect what is bound; else what is read */
    bool found; /* … is one of the names bound? */
} names;

static bool has(const names *n, gg_str name) {
    for (size_t i = 0; i < n->len; i++)
        if (gg_str_equal(n->items[i], name)) return true;
    return false;
}

static bool is_for_tests(gg_str name) {
    static const char *const words[] = {"TESTCASES", "get_inputs",     "get_init_inputs",   "graphglue_inputs",
                                        "testcases", "example_inputs", "get_example_inputs"};
    return gg__is_one_of(name, words, GG_COUNT(words));
}

static bool add_read(TSNode node, void *data) {
    names *n = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || n->len == MAX_NAMES) return true;
    gg_str name = gg__text(n->tree, node);
    if (!has(n, name) && !is_for_tests(name)) n->items[n->len++] = name;
    return true;
}

static bool find_bound(TSNode node, void *data) {
    names *n = data;
    if (gg_node_is(node, "identifier") && gg__is_binding(node) && has(n, gg__text(n->tree, node))) n->found = true;
    if (gg_node_is(node, "wildcard_import")) n->found = true;
    return !n->found;
}

static bool is_main_guard(const gg_tree *tree, TSNode statement) {
    return gg_node_is(statement, "if_statement") &&
           gg__reads(tree, gg__field(statement, "condition"), GG_STR("__name__"));
}

/* Does it bind one of the names, in the module's scope? */
static bool binds_one(names *n, TSNode statement) {
    n->found = false;
    TSNode inner = gg_node_is(statement, "decorated_definition") ? gg__field(statement, "definition") : statement;
    if (gg_node_is(inner, "function_definition") || gg_node_is(inner, "class_definition"))
        return has(n, gg__text(n->tree, gg__field(inner, "name")));
    if (gg_node_is(statement, "future_import_statement")) return true;
    if (is_main_guard(n->tree, statement)) return false;
    gg__visit(statement, find_bound, n);
    return n->found;
}

gg_str gg__context(const gg_tree *tree, gg_span definition, gg_arena *arena) {
    names *n = gg_calloc(1, sizeof(names));
    n->tree = tree;
    TSNode root = gg_tree_root(tree);
    uint32_t count = gg__child_count(root);
    bool *taken = gg_calloc(count + 1, sizeof(bool));
    for (uint32_t i = 0; i < count; i++) {
        TSNode child = gg__child(root, i);
        if (gg__covers(child, definition)) gg__visit(child, add_read, n);
    }
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < count; i++) {
            TSNode child = gg__child(root, i);
            if (taken[i] || gg__covers(child, definition) || !binds_one(n, child)) continue;
            taken[i] = true;
            if (gg__text(tree, child).len <= MAX_STATEMENT_BYTES) gg__visit(child, add_read, n);
        }
    gg_buf out;
    gg_buf_init(&out, GG__MAX_CONTEXT_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        gg_str text = gg__text(tree, gg__child(root, i));
        if (taken[i] && text.len <= MAX_STATEMENT_BYTES && out.len + text.len + 1 <= GG__MAX_CONTEXT_BYTES) {
            gg_buf_append(&out, text);
            gg_buf_append_char(&out, '\n');
        }
    }
    gg_str text = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    gg_free(taken);
    gg_free(n);
    return text;
}
