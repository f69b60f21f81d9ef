/* The `except` clauses of a file, and which of them could catch what a statement raises.  See syntax.h.  Any thread. */
#include "repair/speakers.h"

static bool is_given_a_logger(TSNode node, void *data) {
    return gg__makes_logger(data, gg__field(gg__parent(node), "right"));
}

/* `logger.info("…")` of a logger of the module's */
static bool is_message(const gg_tree *tree, TSNode call) {
    TSNode object = gg__field(gg__field(call, "function"), "object"), arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++)
        if (!gg_node_is(gg__child(arguments, i), "string")) return false;
    return gg_node_is(call, "call") && gg_node_is(object, "identifier") &&
           gg__is_bound_in_module(tree, gg__text(tree, object)) &&
           gg__each_module_binding(tree, gg__text(tree, object), is_given_a_logger, (void *)tree);
}

/* `try: import x`, and perhaps a flag, another name or a message, and nothing else in it */
static bool only_imports(const gg_tree *tree, TSNode block) {
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i), only = gg__child(child, 0);
        TSNode value = gg__field(only, "right");
        bool flag = gg_node_is(value, "true") || gg_node_is(value, "false") || gg_node_is(value, "none");
        bool name = gg_node_is(value, "identifier") && gg_node_is(gg__field(only, "left"), "identifier");
        if (!gg_node_is(child, "import_statement") && !gg_node_is(child, "import_from_statement") &&
            !gg_node_is(child, "comment") && !flag && !name && !is_message(tree, only))
            return false;
    }
    return true;
}

typedef struct raised {
    const gg_tree *tree;
    gg_str type; /* of what it raises by itself, before an edit and behind it; empty: not known to be but these */
} raised;

/* The type, where it is one that has no relatives but Exception among what handlers below name. */
static bool note_raise(TSNode node, void *data) {
    static const char *const types[] = {"ValueError", "RuntimeError", "AssertionError"};
    raised *r = data;
    bool raises = gg_node_is(node, "raise_statement");
    if (!raises && !gg_node_is(node, "assert_statement")) return true;
    TSNode made = gg__child(node, 0);
    if (gg_node_is(made, "call")) made = gg__field(made, "function");
    gg_str type = raises ? gg__text(r->tree, made) : GG_STR("AssertionError");
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(types); i++)
        known = known || (gg_str_is(type, types[i]) && (!raises || gg__names_builtin(r->tree, made, types[i])));
    if (!known || (r->type.len && !gg_str_equal(r->type, type))) {
        r->type = GG_STR_NULL;
        return false;
    }
    r->type = type;
    return true;
}

/* `except AttributeError:`, which catches neither that type nor the RuntimeError that it may become. */
static bool catches_another(const raised *r, TSNode clause) {
    static const char *const others[] = {"ImportError", "ModuleNotFoundError", "AttributeError",   "AssertionError",
                                         "KeyError",    "IndexError",          "StopIteration",    "OSError",
                                         "TypeError",   "FileNotFoundError",   "ZeroDivisionError"};
    TSNode type = gg__child(clause, 0);
    if (gg_node_is(type, "as_pattern")) type = gg__child(type, 0);
    if (r->type.len == 0 || !gg_node_is(clause, "except_clause") || !gg_node_is(type, "identifier")) return false;
    for (size_t i = 0; i < GG_COUNT(others); i++)
        if (gg__names_builtin(r->tree, type, others[i])) return !gg_str_is(r->type, others[i]);
    return false;
}

static bool is_no_handler(TSNode node, void *data) {
    const raised *r = data;
    bool handler = gg_node_is(node, "except_clause") || gg_node_is(node, "except_group_clause");
    return !handler || only_imports(r->tree, gg__field(gg__parent(node), "body")) || catches_another(r, node);
}

bool gg__has_handler(const gg_tree *tree, TSNode statement, gg_str type) {
    raised what = {.tree = tree, .type = type};
    if (type.len == 0) gg__visit(statement, note_raise, &what);
    return !gg__visit(gg_tree_root(tree), is_no_handler, &what);
}
