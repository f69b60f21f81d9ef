/* GG058 eval-literal: eval() of a text that stands in the program, globals() and importlib.import_module() of a name that does: Dynamo traces none.
 * Offers: the expression itself, or the import.  Refuses: unless the text is one plain expression on one line, and each of its names means the same to eval
 * (which sees the locals of the function and the globals, but no other function's); unless the module binds the name that globals() is asked for,
 * and no function around does; unless what is imported is a name's, and a module of the standard library.  Safety: exact.  Page: docs/rules/GG058.md */
#include <ctype.h>

#include "repair/syntax.h"

/* What a literal says, trimmed; empty where it says it by other than plain text. */
static gg_str text_of(const gg_tree *tree, TSNode literal) {
    if (!gg_node_is(literal, "string") || gg__child_count(literal) != 3) return GG_STR_NULL;
    gg_str open = gg__text(tree, gg__child(literal, 0));
    if (open.len == 0 || (open.ptr[0] != '"' && open.ptr[0] != '\'')) return GG_STR_NULL; /* f'', b'', r'' */
    gg_str inside = gg__text(tree, gg__child(literal, 1));
    for (size_t i = 0; i < inside.len; i++)
        if (inside.ptr[i] == '\\' || inside.ptr[i] == '\n' || inside.ptr[i] == '\r' || inside.ptr[i] == '#')
            return GG_STR_NULL;
    return gg_str_trim(inside);
}

/* The literal of `eval('…')`; null when the call is anything else. */
static TSNode evaluated(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    bool plain = gg_node_is(call, "call") && gg__names_builtin(tree, gg__field(call, "function"), "eval") &&
                 gg__child_count(arguments) == 1;
    return plain ? gg__child(arguments, 0) : (TSNode){0};
}

/* `globals()['…']` around the call, where it is read; else null. */
static TSNode looked_up(const gg_tree *tree, TSNode call) {
    TSNode subscript = gg__parent(call), user = gg__parent(subscript), none = {0};
    bool plain = gg_node_is(call, "call") && gg__names_builtin(tree, gg__field(call, "function"), "globals") &&
                 gg__child_count(gg__field(call, "arguments")) == 0 && gg_node_is(subscript, "subscript") &&
                 ts_node_eq(gg__field(subscript, "value"), call) && gg__child_count(subscript) == 2;
    if (!plain || gg_node_is(user, "delete_statement") || gg_node_is(user, "pattern_list") ||
        gg_node_is(user, "tuple_pattern") || gg_node_is(user, "list_pattern"))
        return none;
    return ts_node_eq(gg__field(user, "left"), subscript) ? none : subscript; /* assigned, or a for's target */
}

static bool is_name(gg_str text) {
    bool fits = text.len > 0 && !isdigit((unsigned char)text.ptr[0]) && !gg_str_starts_with(text, GG_STR("__"));
    for (size_t i = 0; fits && i < text.len; i++) fits = isalnum((unsigned char)text.ptr[i]) || text.ptr[i] == '_';
    return fits;
}

typedef struct binding_search {
    const gg_tree *tree;
    gg_str name;
    TSNode function;
    bool certain;
} binding_search;

static bool is_not_deleted(TSNode node, void *data) {
    const binding_search *search = data;
    return !gg_node_is(node, "delete_statement") || !gg__reads(search->tree, node, search->name);
}

/* Bound at the top of the module, in front of the function. */
static bool on_binding(TSNode node, void *data) {
    binding_search *search = data;
    TSNode statement = gg__statement(node);
    search->certain = search->certain || (gg_node_is(gg__parent(statement), "module") &&
                                          ts_node_end_byte(statement) <= ts_node_start_byte(search->function));
    return true;
}

static bool is_global(const gg_tree *tree, TSNode function, TSNode subscript, gg_str name) {
    binding_search search = {.tree = tree, .name = name, .function = function};
    return is_name(name) && !gg__is_local(tree, subscript, name) &&
           gg__each_module_binding(tree, name, on_binding, &search) && search.certain &&
           gg__visit(gg_tree_root(tree), is_not_deleted, &search);
}

/* Nothing that makes a scope of its own, binds, or leaves; a name of its own scope would be looked up elsewhere. */
static bool is_plain(TSNode node, void *data) {
    (void)data;
    static const char *const others[] = {"lambda",
                                         "list_comprehension",
                                         "set_comprehension",
                                         "dictionary_comprehension",
                                         "generator_expression",
                                         "named_expression",
                                         "yield",
                                         "await",
                                         "string"};
    for (size_t i = 0; i < GG_COUNT(others); i++)
        if (gg_node_is(node, others[i])) return false;
    return true;
}

typedef struct name_check {
    const gg_tree *inner, *outer;
    TSNode beyond; /* what is around the function that calls eval */
} name_check;

static bool means_the_same(TSNode node, void *data) {
    const name_check *check = data;
    if (!gg_node_is(node, "identifier")) return true;
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    gg_str name = gg__text(check->inner, node);
    static const char *const scoped[] = {"locals", "vars", "dir", "super", "eval", "exec"};
    for (size_t i = 0; i < GG_COUNT(scoped); i++)
        if (gg_str_is(name, scoped[i])) return false;
    if (gg_str_starts_with(name, GG_STR("__"))) return false; /* mangled in a class */
    return !gg__is_local(check->outer, check->beyond, name);
}

static bool is_one_expression(const gg_rule_input *in, TSNode function, gg_str source) {
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    bool good = false;
    if (gg_text_new(&text, source, NULL) == 0 && gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) == 0) {
        TSNode root = gg_tree_root(tree), statement = gg__child(root, 0), expression = gg__child(statement, 0);
        name_check names = {tree, in->tree, gg__parent(function)};
        good = !gg_tree_has_error(tree) && gg__child_count(root) == 1 &&
               gg_node_is(statement, "expression_statement") && ts_node_child_count(statement) == 1 &&
               ts_node_end_byte(expression) == source.len && !gg_node_is(expression, "assignment") &&
               !gg_node_is(expression, "augmented_assignment") && gg__visit(expression, is_plain, NULL) &&
               gg__visit(expression, means_the_same, &names);
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return good;
}

/* The statement `m = importlib.import_module("math")`, of a module that comes with Python and only defines functions; else null. */
static TSNode import_at(const gg_tree *tree, TSNode call) {
    static const char *const known[] = {"math",        "cmath",  "operator",  "itertools", "functools",
                                        "collections", "string", "fractions", "numbers"};
    TSNode arguments = gg__field(call, "arguments"), assignment = gg__parent(call), statement = gg__parent(assignment);
    bool plain =
        gg_node_is(call, "call") && gg_node_is(arguments, "argument_list") && gg__child_count(arguments) == 1 &&
        gg_node_is(assignment, "assignment") && gg_node_is(statement, "expression_statement") &&
        gg__child_count(statement) == 1 && gg_node_is(gg__field(assignment, "left"), "identifier") &&
        ts_node_is_null(gg__field(assignment, "type")) &&
        !gg__has_comment(tree, gg_node_span(statement)) && /* it would be lost */
        gg__refers_to(tree, gg__field(call, "function"), "importlib.import_module") &&
        !gg__binds_path(tree, gg_tree_root(tree), GG_STR("importlib.import_module")) && !gg__has_star_import(tree);
    gg_str name = plain ? text_of(tree, gg__child(arguments, 0)) : GG_STR_NULL;
    bool exact = name.len + 2 == gg__text(tree, gg__child(arguments, 0)).len;
    return plain && exact && gg__is_one_of(name, known, GG_COUNT(known)) ? statement : (TSNode){0};
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), function = {0};
    TSNode subscript = looked_up(in->tree, call);
    bool looks_up = !ts_node_is_null(subscript);
    out->node = import_at(in->tree, call);
    if (!ts_node_is_null(out->node)) return true;
    out->node = looks_up ? subscript : call;
    gg_str source = text_of(in->tree, looks_up ? gg__field(subscript, "subscript") : evaluated(in->tree, call));
    if (source.len == 0) return false;
    for (TSNode at = gg__parent(out->node); !ts_node_is_null(at) && ts_node_is_null(function); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) function = at;
        if (!is_plain(at, NULL) || gg_node_is(at, "class_definition")) return false; /* another scope than it looks */
    }
    if (ts_node_is_null(function) || !is_one_expression(in, function, source)) return false;
    return !looks_up || is_global(in->tree, function, subscript, source);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    static const char *const roomy[] = {"return_statement", "assignment", "expression_statement", "argument_list",
                                        "parenthesized_expression"};
    TSNode parent = gg__parent(match->node), name = gg__field(match->node, "subscript");
    TSNode assignment = gg__child(match->node, 0);
    if (gg_node_is(match->node, "expression_statement")) {
        TSNode literal = gg__child(gg__field(gg__field(assignment, "right"), "arguments"), 0);
        gg_edits_add(out, gg_node_span(match->node),
                     gg_arena_printf(arena, "import %.*s as %.*s", GG_STR_ARG(text_of(in->tree, literal)),
                                     GG_STR_ARG(gg__text(in->tree, gg__field(assignment, "left")))));
        return 0;
    }
    bool wrap = ts_node_is_null(name); /* a name needs no parentheses */
    for (size_t i = 0; i < GG_COUNT(roomy); i++) wrap = wrap && !gg_node_is(parent, roomy[i]);
    gg_str source = text_of(in->tree, ts_node_is_null(name) ? evaluated(in->tree, match->node) : name);
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%s%.*s%s", wrap ? "(" : "", GG_STR_ARG(source), wrap ? ")" : ""));
    return 0;
}

const gg_rule gg_rule_eval_literal = {
    .code = "GG058",
    .name = "eval-literal",
    .title = "Write the expression instead of evaluating its text",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
