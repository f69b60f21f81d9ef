/* Names: where they are bound, and what a name means at a place, as far as syntax proves it.  See syntax.h.
 *
 * Unknown is always an answer: a name that is bound twice, in a nested scope or by `global` resolves to nothing. */
#include "repair/syntax.h"

static bool field_is(TSNode parent, const char *name, TSNode node) {
    return ts_node_eq(gg__field(parent, name), node);
}

static bool is_any(TSNode node, const char *const *types, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_node_is(node, types[i])) return true;
    return false;
}

static bool binds_by_import(TSNode node, TSNode parent) {
    if (gg_node_is(parent, "aliased_import")) return field_is(parent, "alias", node);
    TSNode statement = gg__parent(parent);
    if (!gg_node_is(parent, "dotted_name") || !ts_node_eq(gg__child(parent, 0), node)) return false;
    if (gg_node_is(statement, "import_statement")) return true;
    return gg_node_is(statement, "import_from_statement") && !field_is(statement, "module_name", parent);
}

/* Of what stands behind `case`: a name is a dotted_name there. */
static bool is_of_a_pattern(TSNode node) {
    return !ts_node_is_null(node) &&
           (gg_node_is(node, "dotted_name") || gg_str_ends_with(gg_str_from(ts_node_type(node)), GG_STR("_pattern")));
}

bool gg__is_binding(TSNode identifier) {
    static const char *const patterns[] = {
        "pattern_list",      "tuple_pattern",           "list_pattern", "list_splat_pattern", "typed_parameter",
        "as_pattern_target", "dictionary_splat_pattern"};
    static const char *const always[] = {"parameters",       "lambda_parameters", "as_pattern",
                                         "delete_statement", "global_statement",  "nonlocal_statement"};
    static const char *const left[] = {"assignment", "augmented_assignment", "for_statement", "for_in_clause"};
    static const char *const named[] = {"named_expression", "default_parameter", "typed_default_parameter",
                                        "function_definition", "class_definition"};
    TSNode node = identifier, parent = gg__parent(node);
    if (binds_by_import(node, parent)) return true;
    while (is_any(parent, patterns, GG_COUNT(patterns))) {
        node = parent;
        parent = gg__parent(parent);
    }
    if (is_any(parent, always, GG_COUNT(always)))
        return !gg_node_is(parent, "as_pattern") || gg_node_is(node, "as_pattern_target");
    if (is_any(parent, left, GG_COUNT(left))) return field_is(parent, "left", node);
    if (is_any(parent, named, GG_COUNT(named))) return field_is(parent, "name", node);
    if (gg_node_is(parent, "except_clause")) return field_is(parent, "alias", node);
    for (TSNode at = parent; is_of_a_pattern(at); at = gg__parent(at))
        if (gg_node_is(at, "case_pattern")) return true;
    return false;
}

typedef struct name_search {
    const gg_tree *tree;
    gg_str name;
    TSNode but; /* not inside this one */
    gg__visitor found;
    void *data;
} name_search;

static bool is_the_name(const name_search *search, TSNode node) {
    return gg_node_is(node, "identifier") && gg_str_equal(gg__text(search->tree, node), search->name);
}

static bool does_not_bind(TSNode node, void *data) {
    const name_search *search = data;
    return !is_the_name(search, node) || !gg__is_binding(node);
}

bool gg__is_member_name(TSNode identifier) {
    TSNode parent = gg__parent(identifier);
    return (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), identifier)) ||
           (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), identifier));
}

bool gg__binds(const gg_tree *tree, TSNode scope, gg_str name) {
    name_search search = {.tree = tree, .name = name};
    return !ts_node_is_null(scope) && !gg__visit(scope, does_not_bind, &search);
}

static bool does_not_bind_path(TSNode node, void *data) {
    const name_search *search = data;
    return !gg_str_equal(gg__text(search->tree, node), search->name) || !gg__is_binding(node);
}

bool gg__binds_path(const gg_tree *tree, TSNode scope, gg_str path) {
    name_search search = {.tree = tree, .name = path};
    return !gg__visit(scope, does_not_bind_path, &search);
}

bool gg__is_local(const gg_tree *tree, TSNode at, gg_str name) {
    for (TSNode scope = at; !ts_node_is_null(scope); scope = gg__parent(scope)) {
        if (gg_node_is(scope, "function_definition") || gg_node_is(scope, "lambda")) {
            if (gg__binds(tree, gg__field(scope, "parameters"), name) ||
                gg__binds(tree, gg__field(scope, "body"), name))
                return true;
        } else if (gg__is_comprehension(scope) && gg__binds(tree, scope, name)) {
            return true;
        }
    }
    return false;
}

/* Is the node in the module's own scope: in no function's, class's or comprehension's? */
static bool is_at_module_level(TSNode node) {
    for (TSNode child = node, at = gg__parent(node); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        bool defines = gg_node_is(at, "function_definition") || gg_node_is(at, "class_definition");
        if (defines && !field_is(at, "name", child)) return false;
        if (gg_node_is(at, "lambda") || gg_node_is(at, "for_in_clause")) return false;
    }
    return true;
}

static bool on_module_binding(TSNode node, void *data) {
    const name_search *search = data;
    if (!is_the_name(search, node) || !gg__is_binding(node)) return true;
    bool global = gg_node_is(gg__parent(node), "global_statement");
    return (!global && !is_at_module_level(node)) || search->found(node, search->data);
}

bool gg__each_module_binding(const gg_tree *tree, gg_str name, gg__visitor found, void *data) {
    name_search search = {.tree = tree, .name = name, .found = found, .data = data};
    return gg__visit(gg_tree_root(tree), on_module_binding, &search);
}

bool gg__is_bound_in_module(const gg_tree *tree, gg_str name) {
    return !gg__each_module_binding(tree, name, gg__stop, NULL);
}

/* ---- modules by their names ------------------------------------------------------------------------------------------ */

typedef struct module_search {
    const gg_tree *tree;
    gg_str module, name;
    uint32_t count;
} module_search;

/* "a.b" and ("a", "b") */
static bool is_path(gg_str path, gg_str head, gg_str tail) {
    gg_str dot = gg_str_slice(path, head.len, head.len + 1);
    return path.len == head.len + 1 + tail.len && gg_str_starts_with(path, head) && gg_str_is(dot, ".") &&
           gg_str_ends_with(path, tail);
}

/* Does this import bind the name to the module (or to the package that holds it, for `import a.b`)? */
static bool imports_it(TSNode node, void *data) {
    module_search *search = data;
    TSNode holder = gg__parent(node), statement = gg__parent(holder);
    bool aliased = gg_node_is(holder, "aliased_import");
    gg_str name = gg__text(search->tree, aliased ? gg__field(holder, "name") : holder);
    search->count++;
    if (gg_node_is(statement, "import_statement")) {
        if (aliased) return gg_str_equal(name, search->module);
        /* `import torch.nn` makes all of torch that is loaded reachable */
        gg_str first = gg__text(search->tree, node);
        return gg_str_equal(first, search->module) ||
               (gg_str_starts_with(search->module, first) && search->module.ptr[first.len] == '.');
    }
    return gg_node_is(statement, "import_from_statement") &&
           is_path(search->module, gg__text(search->tree, gg__field(statement, "module_name")), name);
}

static bool collect_import(TSNode node, void *data) {
    module_search *search = data;
    bool import = gg_node_is(node, "import_statement"), from = gg_node_is(node, "import_from_statement");
    if (!import && !from) return !gg_node_is(node, "function_definition") && !gg_node_is(node, "class_definition");
    TSNode module = gg__field(node, "module_name");
    for (uint32_t i = 0; i < gg__child_count(node) && search->name.len == 0; i++) {
        TSNode child = gg__child(node, i);
        if (from && ts_node_eq(child, module)) continue;
        bool aliased = gg_node_is(child, "aliased_import");
        gg_str path = gg__text(search->tree, aliased ? gg__field(child, "name") : child);
        gg_str alias = aliased ? gg__text(search->tree, gg__field(child, "alias")) : GG_STR_NULL;
        bool same = gg_str_equal(path, search->module);
        if (from ? is_path(search->module, gg__text(search->tree, module), path) : same)
            search->name = aliased ? alias : path; /* `import a.b`: used by its whole path */
        else if (import && !aliased && gg_str_starts_with(path, search->module) && path.ptr[search->module.len] == '.')
            search->name = gg_str_contains(search->module, GG_STR(".")) ? GG_STR_NULL : search->module;
    }
    return search->name.len == 0;
}

/* Has an assignment or an expression read the name by the time the node is reached? */
static bool is_read_before(const gg_tree *tree, TSNode at, gg_str name) {
    TSNode function = gg__function(at);
    for (TSNode in = gg__statement(at); !ts_node_is_null(in) && !ts_node_eq(in, function); in = gg__parent(in))
        for (TSNode before = ts_node_prev_named_sibling(in); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode e = gg__child(before, 0), value = gg_node_is(e, "assignment") ? gg__field(e, "right") : e;
            bool called = gg_node_is(value, "call") || gg_node_is(value, "binary_operator");
            TSNode first = gg_node_is(value, "call") ? gg__field(value, "function") : gg__field(value, "left");
            if (gg_node_is(gg__parent(before), "block") && gg_node_is(before, "expression_statement") && called &&
                gg__reads(tree, first, name))
                return true;
        }
    return false;
}

gg_str gg__module_alias(const gg_tree *tree, TSNode at, const char *module) {
    module_search search = {.tree = tree, .module = gg_str_from(module)};
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root) && search.name.len == 0; i++)
        collect_import(gg__child(root, i), &search);
    if (search.name.len == 0) { /* `if is_torch_available(): import torch`, where it has been used already */
        for (uint32_t i = 0; i < gg__child_count(root) && search.name.len == 0; i++)
            if (gg_node_is(gg__child(root, i), "if_statement"))
                gg__visit(gg__field(gg__child(root, i), "consequence"), collect_import, &search);
        if (search.name.len == 0 || !is_read_before(tree, at, search.name)) return GG_STR_NULL;
    }
    size_t dot = gg_str_find(search.name, GG_STR("."), 0);
    gg_str first = gg_str_slice(search.name, 0, dot == SIZE_MAX ? search.name.len : dot);
    bool only = gg__each_module_binding(tree, first, imports_it, &search) && search.count > 0;
    return only && !gg__is_local(tree, at, first) ? search.name : GG_STR_NULL;
}

bool gg__can_name(const gg_tree *tree, TSNode at, const char *module) {
    gg_str name = gg_str_from(module);
    return gg__module_alias(tree, at, module).len > 0 ||
           (!gg__is_bound_in_module(tree, name) && !gg__is_local(tree, at, name));
}

static bool is_no_star(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "wildcard_import");
}

bool gg__has_star_import(const gg_tree *tree) {
    return !gg__visit(gg_tree_root(tree), is_no_star, NULL);
}

typedef struct word_search {
    const gg_tree *tree;
    const char *const *words;
    size_t count;
} word_search;

static bool is_another_word(TSNode node, void *data) {
    const word_search *s = data;
    return !gg_node_is(node, "identifier") || !gg__is_one_of(gg__text(s->tree, node), s->words, s->count);
}

bool gg__has_word(const gg_tree *tree, TSNode node, const char *const *words, size_t count) {
    word_search s = {tree, words, count};
    return !gg__visit(node, is_another_word, &s);
}
