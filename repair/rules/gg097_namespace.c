/* GG097 namespace: types.SimpleNamespace(k=2) is a class in C that Dynamo has no rule for.
 * Offers: argparse.Namespace(k=2), a class in Python with attributes just so.
 * Refuses: unless it is bound once to a local name of which only attributes are stored, and read that are there: printed, compared, passed on or returned, it
 * would be seen to be another.  Safety: exact.  Page: docs/rules/GG097.md */
#include "repair/hindrance.h"
#include "repair/scalar.h"

typedef struct object {
    const gg_rule_input *in;
    TSNode arguments, function;
} object;

static bool is_private(gg_str name) {
    return gg_str_starts_with(name, GG_STR("_"));
}

/* `o.<name> = …`, of the object of that name */
static bool stores(const object *o, TSNode statement, TSNode use, gg_str name) {
    const gg_tree *tree = o->in->tree;
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    return gg_node_is(statement, "expression_statement") && gg_node_is(assignment, "assignment") &&
           gg_node_is(left, "attribute") && gg_str_equal(gg__text(tree, gg__field(left, "attribute")), name) &&
           gg_str_equal(gg__text(tree, gg__field(left, "object")), gg__text(tree, use));
}

/* … or in each iteration of `for i in range(3):` */
static bool stores_in(const object *o, TSNode statement, TSNode use, gg_str name) {
    if (stores(o, statement, use, name)) return true;
    const gg_tree *tree = o->in->tree;
    TSNode range = gg__field(statement, "right"), arguments = gg__field(range, "arguments");
    TSNode body = gg__field(statement, "body");
    double count = 0;
    if (!gg_node_is(statement, "for_statement") || !gg_node_is(range, "call") || gg__child_count(arguments) != 1 ||
        !gg__names_builtin(tree, gg__field(range, "function"), "range") ||
        !gg__literal_value(tree, gg__child(arguments, 0), &count) || count < 1)
        return false;
    return stores(o, gg__child(body, 0), use, name);
}

/* Is the attribute there, whenever the object is used here?  Of one that is not the error names the class. */
static bool has(const object *o, TSNode use, gg_str name) {
    for (uint32_t i = 0; i < gg__child_count(o->arguments); i++)
        if (gg_str_equal(gg__text(o->in->tree, gg__field(gg__child(o->arguments, i), "name")), name)) return true;
    TSNode statement = gg__statement(use), attribute = gg__parent(use);
    if (stores(o, statement, use, name) && ts_node_eq(gg__field(gg__child(statement, 0), "left"), attribute))
        return true;
    for (TSNode at = statement; !ts_node_is_null(at) && !ts_node_eq(at, o->function); at = gg__parent(at))
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before))
            if (stores_in(o, before, use, name)) return true;
    return gg__hinder(o->in, attribute, "may not be there, and the error would name another class");
}

static bool is_attribute(TSNode node, void *data) {
    const object *o = data;
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    gg_str name = gg__text(o->in->tree, gg__field(parent, "attribute"));
    if (!gg_node_is(parent, "attribute"))
        return gg__hinder(o->in, node, "is used as a whole, and would be seen to be of another class");
    while (gg_node_is(around, "expression_list")) around = gg__parent(around);
    if (gg_node_is(around, "delete_statement")) return gg__hinder(o->in, parent, "is deleted");
    return !is_private(name) && has(o, node, name);
}

static bool asks_for_all_names(TSNode node, void *data) {
    static const char *const all[] = {"locals", "vars", "eval", "exec", "dir"};
    const gg_tree *tree = data;
    return !gg_node_is(node, "identifier") || !gg__is_one_of(gg__text(tree, node), all, GG_COUNT(all));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    const gg_tree *tree = in->tree;
    TSNode call = gg__strip_parentheses(gg_node_at(tree, in->span)), assignment = gg__parent(call);
    object o = {in, gg__field(call, "arguments"), gg__function(call)};
    out->node = call;
    if (!gg_node_is(call, "call") || !gg__refers_to(tree, gg__field(call, "function"), "types.SimpleNamespace"))
        return false;
    for (uint32_t i = 0; i < gg__child_count(o.arguments); i++) {
        TSNode argument = gg__child(o.arguments, i);
        gg_str name = gg__text(tree, gg__field(argument, "name"));
        if (gg_node_is(argument, "comment")) continue;
        if (!gg_node_is(argument, "keyword_argument") || is_private(name) || gg_str_is(name, "self"))
            return gg__hinder(in, argument, "is no plain attribute");
    }
    TSNode name = gg__field(assignment, "left");
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(gg__parent(assignment), "expression_statement") ||
        !ts_node_is_null(gg__field(assignment, "type")) || !ts_node_eq(gg__only_value(tree, name), call))
        return gg__hinder(in, call, "is not bound to a local name, once");
    return gg__visit(o.function, asks_for_all_names, (void *)tree) && gg__each_use(tree, name, is_attribute, &o) &&
           gg__can_name(tree, call, "argparse");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg_str module = gg__require_module(in->tree, match->node, "argparse", arena, out);
    (void)err;
    gg_edits_add(out, gg_node_span(gg__field(match->node, "function")),
                 gg_arena_printf(arena, "%.*s.Namespace", GG_STR_ARG(module)));
    return 0;
}

const gg_rule gg_rule_namespace = {
    .code = "GG097",
    .name = "namespace",
    .title = "Make it a namespace that is traced",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
