/* What a dotted name refers to, through the imports that bind its first part.  See syntax.h.  Any thread. */
#include "repair/syntax.h"

typedef struct resolution {
    const gg_tree *tree;
    gg_str name, rest; /* first part of the dotted name; what follows it, with its dot */
    gg_str path;       /* what it should be */
    uint32_t bindings;
} resolution;

/* Is the path `head`, a dot and `tail`, and then the rest of the name? */
static bool spells(const resolution *r, gg_str head, gg_str tail) {
    gg_str left = r->path;
    if (!gg_str_starts_with(left, head)) return false;
    left = gg_str_slice(left, head.len, left.len);
    if (tail.len) {
        if (left.len <= tail.len || left.ptr[0] != '.') return false;
        left = gg_str_slice(left, 1, left.len);
        if (!gg_str_starts_with(left, tail)) return false;
        left = gg_str_slice(left, tail.len, left.len);
    }
    return gg_str_equal(left, r->rest);
}

/* Visits the bindings of the name; false at one that makes it something else. */
static bool binds_the_path(TSNode node, void *data) {
    resolution *r = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(r->tree, node), r->name) || !gg__is_binding(node))
        return true;
    r->bindings++;
    TSNode holder = gg__parent(node), statement = gg__parent(holder);
    bool aliased = gg_node_is(holder, "aliased_import");
    gg_str imported = gg__text(r->tree, aliased ? gg__field(holder, "name") : holder);
    if (gg_node_is(statement, "import_statement")) return spells(r, aliased ? imported : r->name, GG_STR_NULL);
    return gg_node_is(statement, "import_from_statement") &&
           spells(r, gg__text(r->tree, gg__field(statement, "module_name")), imported);
}

static bool is_dotted(TSNode node) {
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    return gg_node_is(node, "identifier");
}

bool gg__refers_to(const gg_tree *tree, TSNode node, const char *path) {
    if (!is_dotted(node)) return false;
    gg_str text = gg__text(tree, node);
    size_t dot = gg_str_find(text, GG_STR("."), 0), end = dot == SIZE_MAX ? text.len : dot;
    resolution r = {.tree = tree, .path = gg_str_from(path)};
    r.name = gg_str_slice(text, 0, end);
    r.rest = gg_str_slice(text, end, text.len);
    for (TSNode scope = node; !ts_node_is_null(scope); scope = gg__parent(scope)) {
        if (!gg_node_is(scope, "function_definition") && !gg_node_is(scope, "lambda")) continue;
        if (!gg__visit(scope, binds_the_path, &r)) return false;
    }
    if (r.bindings == 0 && !gg__each_module_binding(tree, r.name, binds_the_path, &r)) return false;
    return r.bindings > 0;
}

bool gg__is_positional(TSNode argument) {
    static const char *const others[] = {"keyword_argument", "list_splat", "dictionary_splat", "comment"};
    return !gg__is_one_of(gg_str_from(ts_node_type(argument)), others, GG_COUNT(others));
}

bool gg__names_builtin(const gg_tree *tree, TSNode node, const char *name) {
    gg_str text = gg__text(tree, node);
    return gg_node_is(node, "identifier") && gg_str_is(text, name) && !gg__is_local(tree, node, text) &&
           !gg__is_bound_in_module(tree, text);
}

bool gg__ends_with(TSNode block, const char *const *types, size_t count) {
    uint32_t statements = gg__child_count(block);
    return statements && gg__is_one_of(gg_str_from(ts_node_type(gg__child(block, statements - 1))), types, count);
}
