/* Names resolved through module-level imports and assignments; where a new import goes; what counts as a diagnostic. */
#include "repair/syntax.h"

/* Calls fn for each (module path, bound name) of a top-level import statement, until it returns true. */
typedef bool (*import_visitor)(const gg_tree *tree, gg_str module, gg_str imported, gg_str bound, void *data);

static bool visit_import(const gg_tree *tree, TSNode statement, import_visitor fn, void *data) {
    gg_str module = gg_node_text(tree, gg__field(statement, "module_name"));
    bool from = gg_node_is(statement, "import_from_statement");
    TSNode module_node = gg__field(statement, "module_name");
    for (uint32_t i = 0; i < ts_node_named_child_count(statement); i++) {
        TSNode child = ts_node_named_child(statement, i);
        if (from && ts_node_eq(child, module_node)) continue;
        bool aliased = gg_node_is(child, "aliased_import");
        gg_str name = gg_node_text(tree, aliased ? gg__field(child, "name") : child);
        gg_str bound = aliased ? gg_node_text(tree, gg__field(child, "alias")) : name;
        if (!from && !aliased) { /* `import a.b` binds a */
            size_t dot = gg_str_find(name, GG_STR("."), 0);
            bound = gg_str_slice(name, 0, dot == SIZE_MAX ? name.len : dot);
        }
        if (fn(tree, from ? module : name, from ? name : GG_STR_NULL, bound, data)) return true;
    }
    return false;
}

static bool visit_imports(const gg_tree *tree, import_visitor fn, void *data) {
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < ts_node_named_child_count(root); i++) {
        TSNode child = ts_node_named_child(root, i);
        if (!gg_node_is(child, "import_statement") && !gg_node_is(child, "import_from_statement")) continue;
        if (visit_import(tree, child, fn, data)) return true;
    }
    return false;
}

typedef struct alias_search {
    gg_str module; /* looked for */
    gg_arena *arena;
    gg_str found;
} alias_search;

static bool match_module(const gg_tree *tree, gg_str module, gg_str imported, gg_str bound, void *data) {
    (void)tree;
    alias_search *search = data;
    if (imported.len == 0) {
        bool dotted = gg_str_starts_with(module, search->module) && module.len > search->module.len &&
                      module.ptr[search->module.len] == '.';
        if (gg_str_equal(module, search->module) ||
            (dotted && !gg_str_contains(search->module, GG_STR(".")) && gg_str_equal(bound, search->module)))
            search->found = gg_str_contains(module, GG_STR(".")) && gg_str_equal(module, search->module) &&
                                    !gg_str_equal(bound, module) && gg_str_starts_with(module, bound) &&
                                    module.ptr[bound.len] == '.'
                                ? module /* `import torch.nn.functional`: used by its whole path */
                                : bound;
    } else if (search->module.len == module.len + 1 + imported.len && gg_str_starts_with(search->module, module) &&
               search->module.ptr[module.len] == '.' && gg_str_ends_with(search->module, imported)) {
        search->found = bound;
    }
    return search->found.len > 0;
}

gg_str gg__module_alias(const gg_tree *tree, const char *module, gg_arena *arena) {
    alias_search search = {gg_str_from(module), arena, GG_STR_NULL};
    visit_imports(tree, match_module, &search);
    return search.found;
}

static bool is_docstring(TSNode node) {
    return gg_node_is(node, "expression_statement") && gg_node_is(ts_node_named_child(node, 0), "string");
}

gg_str gg__require_module(const gg_tree *tree, const char *module, gg_arena *arena, gg_edits *edits) {
    gg_str alias = gg__module_alias(tree, module, arena);
    if (alias.len) return alias;
    /* After the last of the imports that open the file, its docstring and `from __future__`. */
    TSNode root = gg_tree_root(tree), after = {0};
    bool first = true;
    uint32_t before = 0; /* the first statement that is neither: a file without imports gets its first one there */
    for (uint32_t i = 0; i < ts_node_named_child_count(root); i++) {
        TSNode child = ts_node_named_child(root, i);
        if (gg_node_is(child, "import_statement") || gg_node_is(child, "import_from_statement") ||
            gg_node_is(child, "future_import_statement") || (first && is_docstring(child)))
            after = child;
        else if (!gg_node_is(child, "comment")) {
            before = ts_node_start_byte(child);
            break;
        }
        first = first && gg_node_is(child, "comment");
    }
    gg_str newline = gg__newline(tree);
    if (ts_node_is_null(after)) {
        gg_edits_add(edits, (gg_span){before, before},
                     gg_arena_printf(arena, "import %s%.*s", module, GG_STR_ARG(newline)));
    } else {
        uint32_t end = ts_node_end_byte(after);
        gg_edits_add(edits, (gg_span){end, end}, gg_arena_printf(arena, "%.*simport %s", GG_STR_ARG(newline), module));
    }
    return gg_str_from(module);
}

/* ---- diagnostics --------------------------------------------------------------------------------------------------- */

static bool binds_name(const gg_tree *tree, gg_str module, gg_str imported, gg_str bound, void *data) {
    (void)tree, (void)module, (void)imported;
    return gg_str_equal(bound, *(gg_str *)data);
}

static bool is_warn(const gg_tree *tree, gg_str module, gg_str imported, gg_str bound, void *data) {
    (void)tree;
    return gg_str_is(module, "warnings") && gg_str_is(imported, "warn") && gg_str_equal(bound, *(gg_str *)data);
}

/* The right side of a module-level `name = …`; null node when there is not exactly one. */
static TSNode module_value(const gg_tree *tree, gg_str name) {
    TSNode root = gg_tree_root(tree), found = {0};
    for (uint32_t i = 0; i < ts_node_named_child_count(root); i++) {
        TSNode statement = ts_node_named_child(root, i);
        TSNode assignment =
            gg_node_is(statement, "expression_statement") ? ts_node_named_child(statement, 0) : statement;
        if (!gg_node_is(assignment, "assignment") ||
            !gg_str_equal(gg_node_text(tree, gg__field(assignment, "left")), name))
            continue;
        if (!ts_node_is_null(found)) return (TSNode){0};
        found = gg__field(assignment, "right");
    }
    return found;
}

/* Is the name bound inside the function (parameter, assignment, loop, with, import)? Then nothing at module level is known of it. */
typedef struct binding_search {
    const gg_tree *tree;
    gg_str name;
} binding_search;

static bool does_not_bind(TSNode node, void *data) {
    const binding_search *search = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg_node_text(search->tree, node), search->name)) return true;
    TSNode parent = ts_node_parent(node);
    static const char *const binders[] = {"parameters", "lambda_parameters", "as_pattern_target", "pattern_list",
                                          "dotted_name"};
    for (size_t i = 0; i < GG_COUNT(binders); i++)
        if (gg_node_is(parent, binders[i])) return false;
    if (gg_node_is(parent, "assignment") || gg_node_is(parent, "for_statement"))
        return !ts_node_eq(gg__field(parent, "left"), node);
    if (gg_node_is(parent, "default_parameter") || gg_node_is(parent, "typed_default_parameter") ||
        gg_node_is(parent, "named_expression"))
        return !ts_node_eq(gg__field(parent, "name"), node);
    return !gg_node_is(parent, "typed_parameter");
}

static bool is_local(const gg_tree *tree, TSNode at, gg_str name) {
    TSNode function = gg__function(at);
    binding_search search = {tree, name};
    return gg_node_is(function, "function_definition") && !gg__visit(function, does_not_bind, &search);
}

static bool is_log_method(gg_str name) {
    static const char *const methods[] = {"debug",     "info", "warning",      "warn",      "error",
                                          "exception", "log",  "warning_once", "info_once", "critical"};
    for (size_t i = 0; i < GG_COUNT(methods); i++)
        if (gg_str_is(name, methods[i])) return true;
    return false;
}

/* `logging.getLogger(…)`, `get_logger(…)`, `logging.get_logger(…)`, `x.getLogger(…)` */
static bool makes_logger(const gg_tree *tree, TSNode value) {
    if (!gg_node_is(value, "call")) return false;
    TSNode function = gg__field(value, "function");
    gg_str name = gg_node_text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    return gg_str_is(name, "getLogger") || gg_str_is(name, "get_logger");
}

static bool is_logger(const gg_tree *tree, TSNode object) {
    if (makes_logger(tree, object)) return true;
    if (!gg_node_is(object, "identifier")) return false;
    gg_str name = gg_node_text(tree, object);
    if (is_local(tree, object, name)) return false;
    if (gg_str_equal(gg__module_alias(tree, "logging", NULL), name)) return true;
    return makes_logger(tree, module_value(tree, name));
}

bool gg__is_diagnostic_call(const gg_tree *tree, TSNode call) {
    if (!gg_node_is(call, "call")) return false;
    TSNode function = gg__field(call, "function");
    if (gg_node_is(function, "identifier")) {
        gg_str name = gg_node_text(tree, function);
        if (is_local(tree, function, name)) return false;
        if (gg_str_is(name, "print"))
            return ts_node_is_null(module_value(tree, name)) && !visit_imports(tree, binds_name, &name);
        return visit_imports(tree, is_warn, &name);
    }
    if (!gg_node_is(function, "attribute")) return false;
    TSNode object = gg__field(function, "object");
    gg_str method = gg_node_text(tree, gg__field(function, "attribute"));
    if (gg_str_is(method, "warn") && gg_str_equal(gg__module_alias(tree, "warnings", NULL), gg_node_text(tree, object)))
        return !is_local(tree, object, gg_node_text(tree, object));
    return is_log_method(method) && is_logger(tree, object);
}

/* Arguments must not change anything: no call inside but of methods and functions whose value is only formatted is asked for here; the
 * worker compares state and outputs with the message left out. An assignment expression would be lost, though. */
static bool is_harmless(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "named_expression") && !gg_node_is(node, "await") && !gg_node_is(node, "yield");
}

bool gg__is_diagnostic(const gg_tree *tree, TSNode statement) {
    if (!gg_node_is(statement, "expression_statement") || ts_node_named_child_count(statement) != 1) return false;
    TSNode call = ts_node_named_child(statement, 0);
    return gg__is_diagnostic_call(tree, call) && gg__visit(call, is_harmless, NULL);
}

bool gg__only_diagnostics(const gg_tree *tree, TSNode block) {
    bool any = false;
    for (uint32_t i = 0; i < ts_node_named_child_count(block); i++) {
        TSNode child = ts_node_named_child(block, i);
        if (gg_node_is(child, "comment") || gg_node_is(child, "pass_statement")) continue;
        if (!gg__is_diagnostic(tree, child)) return false;
        any = true;
    }
    return any;
}
