/* What stands at a break site: the code as a reader would name it, and the names that choose between variants of a text.
 * Threads: any. */
#include <string.h>

#include "analysis/explain/explain.h"
#include "analysis/private.h"

static TSNode field(TSNode node, const char *name) {
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

static void add_name(gg__subject *s, gg_str name) {
    if (name.len > 0 && s->name_count < GG_COUNT(s->names)) s->names[s->name_count++] = name;
}

/* ---- constructs: the node whose condition, iterable or name the site is ---- */
typedef struct construct {
    const char *type, *field; /* field NULL: the first named child */
    const char *name;         /* what variants call it */
    const char *prefix;       /* before the code in a message */
    const char *verb;
} construct;

static const construct constructs[] = {
    {"if_statement", "condition", "if", "if ", "Python decides"},
    {"elif_clause", "condition", "if", "elif ", "Python decides"},
    {"while_statement", "condition", "while", "while ", "Python decides"},
    {"assert_statement", NULL, "assert", "assert ", "Python checks"},
    {"if_clause", NULL, "filter", "if ", "Python decides"},
    {"for_statement", "right", "for", "for … in ", "Python iterates"},
    {"for_in_clause", "right", "for", "for … in ", "Python iterates"},
    {"with_item", "value", "with", "with ", "Python enters"},
    {"as_pattern", NULL, "with", "with ", "Python enters"},
    {"class_definition", "name", "class", "class ", "Python defines"},
    {"function_definition", "name", "def", "def ", "Python runs"},
};

static bool is_logic(TSNode node) {
    return gg_node_is(node, "parenthesized_expression") || gg_node_is(node, "not_operator") ||
           gg_node_is(node, "boolean_operator");
}

static const construct *construct_of(TSNode parent, TSNode child) {
    for (size_t i = 0; i < GG_COUNT(constructs); i++) {
        if (!gg_node_is(parent, constructs[i].type)) continue;
        TSNode value = constructs[i].field ? field(parent, constructs[i].field) : ts_node_named_child(parent, 0);
        return !ts_node_is_null(value) && ts_node_eq(value, child) ? &constructs[i] : NULL;
    }
    return NULL;
}

/* Fills in the construct that the node is the condition (iterable, …) of; `*node` becomes the whole condition. */
static const construct *climb(TSNode *node, bool *ternary) {
    TSNode top = *node;
    TSNode parent = ts_node_parent(top);
    while (!ts_node_is_null(parent) && is_logic(parent)) {
        top = parent;
        parent = ts_node_parent(top);
    }
    *ternary = false;
    if (ts_node_is_null(parent)) return NULL;
    const construct *found = construct_of(parent, top);
    if (gg_node_is(parent, "conditional_expression") && ts_node_named_child_count(parent) == 3)
        *ternary = ts_node_eq(ts_node_named_child(parent, 1), top);
    if (found != NULL || *ternary || is_logic(top)) *node = top;
    while (gg_node_is(*node, "parenthesized_expression")) *node = ts_node_named_child(*node, 0);
    return found;
}

/* ---- names ---- */
static gg_str between(gg_str s, const char *head, const char *tail) {
    gg_str h = gg_str_from(head);
    size_t start = gg_str_find(s, h, 0);
    if (start == SIZE_MAX) return GG_STR_NULL;
    size_t end = gg_str_find(s, gg_str_from(tail), start + h.len);
    return gg_str_slice(s, start + h.len, end == SIZE_MAX ? s.len : end);
}

/* The name in Dynamo's context of a record: "time.perf_counter", "print", "aten.nonzero.default". */
static gg_str name_from_context(gg_str id, gg_str context, gg_arena *arena) {
    if (gg_str_is(id, "GB0007") || gg_str_is(id, "GB0008")) {
        gg_str module = between(context, "module: ", ", qualname: "), name = between(context, "qualname: ", ", ");
        if (name.len == 0 || module.len == 0 || module.ptr[0] == '<') return name;
        return gg_arena_printf(arena, "%.*s.%.*s", GG_STR_ARG(module), GG_STR_ARG(name));
    }
    if (gg_str_is(id, "GB0059")) return between(context, "builtin ", " ");
    if (gg_str_is(id, "GB0170") && gg_str_contains(context, GG_STR("SymNodeVariable"))) return GG_STR("symbolic");
    if (gg_str_is(id, "GB0088")) return between(context, "raised exception ", "(");
    if (gg_str_is(id, "GB0142") && gg_str_contains(context, GG_STR("(_GeneratorContextManager)")))
        return GG_STR("_GeneratorContextManager");
    if (gg_str_is(id, "GB0156") && gg_str_starts_with(context, GG_STR("call_method ConstantVariable(str: ")))
        return GG_STR("a method of a string");
    if (gg_str_is(id, "GB0156") && gg_str_starts_with(context, GG_STR("call_method RandomVariable(")))
        return GG_STR("rng.");
    if (gg_str_is(id, "GB0033") || gg_str_is(id, "GB0036") || gg_str_is(id, "GB0037")) return context;
    return GG_STR_NULL;
}

static void add_names_of(gg__subject *s, const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "call")) {
        add_name(s, gg_node_text(tree, field(node, "function")));
        s->verb = "Python calls";
    } else if (gg_node_is(node, "subscript")) {
        add_name(s, GG_STR("subscript"));
        s->verb = "Python indexes, in";
    } else if (gg_node_is(node, "identifier") || gg_node_is(node, "attribute")) {
        add_name(s, gg_node_text(tree, node));
        s->verb = gg_node_is(node, "attribute") ? "Python reads the attribute" : NULL;
    } else if (gg_node_is(node, "binary_operator")) {
        gg_str operator= gg_node_text(tree, field(node, "operator"));
        if (gg_str_is(operator, "%")) add_name(s, GG_STR("'%'"));
        s->verb = "Python computes";
    } else if (gg_node_is(node, "comparison_operator")) {
        gg_str operator= gg_node_text(tree, field(node, "operators"));
        if (gg_str_is(operator, "in") || gg_str_starts_with(operator, GG_STR("not"))) add_name(s, GG_STR("in"));
        s->verb = "Python compares, in";
    }
}

/* ---- values ---- */
static gg_str describe(const gg_fact *fact, gg_arena *arena) {
    if (fact->kind != GG_VALUE_TENSOR || fact->dtype.len == 0 || fact->rank < 0) return GG_STR_NULL;
    gg_str shape = GG_STR("[");
    for (int32_t i = 0; i < fact->rank; i++) {
        const char *comma = i > 0 ? ", " : "";
        if (fact->shape[i] < 0) {
            shape = gg_arena_printf(arena, "%.*s%s?", GG_STR_ARG(shape), comma);
        } else {
            shape = gg_arena_printf(arena, "%.*s%s%lld", GG_STR_ARG(shape), comma, (long long)fact->shape[i]);
        }
    }
    /* dtype is torch's own name, never the user's text */
    return gg_arena_printf(arena, "a `%.*s` tensor of shape `%.*s]`", GG_STR_ARG(fact->dtype), GG_STR_ARG(shape));
}

/* What the capture saw at the site: the value Dynamo stopped at, or that of the receiver when it is a plain name. */
static gg_str value_of(const gg_break *record, const gg_tree *tree, TSNode node, gg_arena *arena) {
    gg_str value = describe(&record->value, arena);
    if (value.len > 0 || ts_node_is_null(node)) return value;
    TSNode receiver = node;
    if (gg_node_is(node, "call")) receiver = field(field(node, "function"), "object");
    if (!gg_node_is(receiver, "identifier")) return value;
    for (size_t i = 0; i < record->fact_count; i++)
        if (gg_str_equal(record->facts[i].name, gg_node_text(tree, receiver)))
            value = describe(&record->facts[i], arena);
    return value;
}

/* ---- surroundings ---- */
static bool is_comprehension(TSNode node) {
    return gg_node_is(node, "list_comprehension") || gg_node_is(node, "set_comprehension") ||
           gg_node_is(node, "dictionary_comprehension") || gg_node_is(node, "generator_expression");
}

static void look_around(gg__subject *s, TSNode node) {
    TSNode function = gg__enclosing_function(node);
    TSNode child = node;
    for (TSNode at = node; !ts_node_is_null(at); child = at, at = ts_node_parent(at)) {
        if (!ts_node_is_null(function) && ts_node_eq(at, function)) break;
        bool in_body = gg_node_is(child, "block");
        bool repeats =
            gg_node_is(at, "while_statement") || (gg_node_is(at, "for_statement") && in_body) || is_comprehension(at);
        if (repeats) s->in_loop = true;
        if (gg_node_is(at, "try_statement") && in_body) s->in_try = true;
    }
}

gg__subject gg__subject_of(const gg_site *site, const gg_tree *tree, gg_arena *arena) {
    gg__subject s = {.verb = NULL};
    TSNode node = {0};
    if (tree != NULL && site->span.end > site->span.start && site->span.end <= gg_text_bytes(gg_tree_text(tree)).len) {
        node = gg_node_at(tree, site->span);
        bool part_of_index = gg_node_is(node, "slice");
        if (part_of_index) node = ts_node_parent(node);
        bool ternary;
        TSNode whole = node;
        const construct *found = climb(&whole, &ternary);
        gg_str code = gg_str_trim(gg_node_text(tree, whole));
        if (found == NULL && !ternary && !part_of_index) code = gg_text_slice(gg_tree_text(tree), site->span);
        s.code = gg_arena_printf(arena, "%s%.*s", found ? found->prefix : ternary ? "… if " : "", GG_STR_ARG(code));
        if (found != NULL) add_name(&s, gg_str_from(found->name));
        if (ternary) add_name(&s, GG_STR("ternary"));
        add_names_of(&s, tree, node);
        if (found != NULL) s.verb = found->verb;
        look_around(&s, node);
    }
    if (site->first != NULL) {
        add_name(&s, name_from_context(site->id, site->first->context, arena));
        s.value = value_of(site->first, tree, node, arena);
    }
    return s;
}
