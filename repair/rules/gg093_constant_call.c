/* GG093 constant-call: a function of the standard library or of NumPy, called with literals, that Dynamo does not trace.
 * Offers: the call at module level, once, in front of the definition it stands in; a number, text or bytes there is a constant of the graph.
 * Refuses: unless the function is one of a table, and cannot fail on what it is given; and its import is certain by then.
 * Safety: exact.  Page: docs/rules/GG093.md */
#include "repair/hindrance.h"
#include "repair/texts.h"

/* ---- where it goes --------------------------------------------------------------------------------------------------------- */

/* In a function's body, that runs when the function is called. */
static bool runs_in_a_function(TSNode node) {
    for (TSNode child = node, at = gg__parent(node); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "class_definition") || gg_node_is(at, "interpolation")) return false;
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda"))
            return ts_node_eq(gg__field(at, "body"), child);
    }
    return false;
}

typedef struct name_search {
    const gg_tree *tree;
    gg_str name;     /* the first part of the function's */
    uint32_t before; /* where the call goes */
    uint32_t import; /* where the import that gives it starts; UINT32_MAX: none is certain */
} name_search;

static bool on_binding(TSNode node, void *data) {
    name_search *s = data;
    TSNode statement = gg__statement(node);
    if (gg_node_is(gg__parent(statement), "module") && ts_node_end_byte(statement) <= s->before &&
        s->import == UINT32_MAX)
        s->import = ts_node_start_byte(statement);
    return true;
}

/* The module is only asked for what it has: nobody gives it another function, or gets hold of it; and names are not looked at. */
static bool is_left_alone(TSNode node, void *data) {
    const name_search *s = data;
    static const char *const looking[] = {"globals", "vars", "dir", "locals", "exec"};
    static const char *const changing[] = {"assignment",    "augmented_assignment", "for_statement",
                                           "for_in_clause", "delete_statement",     "pattern_list",
                                           "tuple_pattern", "list_pattern",         "as_pattern_target"};
    if (gg_node_is(node, "wildcard_import")) return ts_node_start_byte(node) < s->import;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str text = gg__text(s->tree, node);
    if (gg__is_one_of(text, looking, GG_COUNT(looking))) return false;
    if (!gg_str_equal(text, s->name) || gg__is_binding(node) || gg_node_is(gg__parent(node), "dotted_name"))
        return true;
    TSNode top = node;
    while (gg_node_is(gg__parent(top), "attribute")) top = gg__parent(top);
    TSNode around = gg__parent(top);
    if (ts_node_eq(top, node)) return gg_node_is(around, "call") && ts_node_eq(gg__field(around, "function"), node);
    for (size_t i = 0; i < GG_COUNT(changing); i++)
        if (gg_node_is(around, changing[i])) return ts_node_eq(gg__field(around, "right"), top);
    return true;
}

static bool is_definition(TSNode node) {
    return gg_node_is(node, "function_definition") || gg_node_is(node, "class_definition") ||
           gg_node_is(node, "decorated_definition");
}

/* The largest call around the break that is a constant. */
static TSNode constant_at(const gg_rule_input *in, TSNode *out_function) {
    TSNode best = {0}, own = {0};
    for (TSNode at = gg_node_at(in->tree, in->span);
         gg_node_is(at, "call") || gg_node_is(at, "attribute") || gg_node_is(at, "argument_list") ||
         gg_node_is(at, "parenthesized_expression");
         at = gg__parent(at)) {
        if (!gg_node_is(at, "call") || gg__constant_call(in->tree, at, &own) == NULL) continue;
        best = at;
        *out_function = gg__field(own, "function");
    }
    return best;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode function = {0}, call = constant_at(in, &function), top = call, first = function;
    out->node = call;
    if (ts_node_is_null(call) || gg_node_is(gg__parent(call), "expression_statement")) return false;
    if (!runs_in_a_function(call)) return gg__hinder(in, call, "is in no function's body, or in a text");
    while (!gg_node_is(gg__parent(top), "module")) top = gg__parent(top);
    if (!is_definition(top) || ts_node_start_point(top).column != 0)
        return gg__hinder(in, top, "is no definition at module level, which the call could go in front of");
    if (ts_node_start_point(call).row != ts_node_end_point(call).row)
        return gg__hinder(in, call, "is written over several lines");
    /* `f()if c else d` */
    gg_str all = gg_text_bytes(gg_tree_text(in->tree));
    uint32_t end = ts_node_end_byte(call);
    if (end < all.len && gg__is_word(all.ptr[end])) return false;
    /* a module _mean.py of the package would be found under the same name */
    if (gg_str_ends_with(in->site->file, GG_STR("__init__.py"))) return false;
    while (gg_node_is(first, "attribute")) first = gg__field(first, "object");
    name_search s = {in->tree, gg__text(in->tree, first), gg__front_of_definition(call), UINT32_MAX};
    gg__each_module_binding(in->tree, s.name, on_binding, &s);
    if (s.import == UINT32_MAX || gg__is_local(in->tree, call, s.name))
        return gg__hinder(in, function, "is not imported at module level before the definition it stands in");
    return gg__visit(gg_tree_root(in->tree), is_left_alone, &s) ||
           gg__hinder(in, function,
                      "may be another function by then: its module is handed on or changed, or the file "
                      "looks at its own names");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode own = {0};
    const char *noun = gg__constant_call(in->tree, match->node, &own);
    gg_str name = noun ? gg__free_name(in->tree, noun, arena) : GG_STR_NULL, newline = gg__newline(in->tree);
    if (name.len == 0) return gg_fail(err, GG_ENOMATCH, "no name is free");
    uint32_t at = gg__front_of_definition(match->node);
    gg_edits_add(out, (gg_span){at, at},
                 gg_arena_printf(arena, "%.*s = %.*s%.*s%.*s%.*s", GG_STR_ARG(name),
                                 GG_STR_ARG(gg__text(in->tree, match->node)), GG_STR_ARG(newline), GG_STR_ARG(newline),
                                 GG_STR_ARG(newline)));
    gg_edits_add(out, gg_node_span(match->node), name);
    return 0;
}

const gg_rule gg_rule_constant_call = {
    .code = "GG093",
    .name = "constant-call",
    .title = "Compute this constant once, at module level",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
