/* What others may count on of a class or function: that it is there, how it is called, what it derives from.  See integrity.h. */
#include "repair/llm/integrity.h"

typedef struct named {
    TSNode node;
    gg_str name; /* "Net.forward" */
} named;

typedef struct collection {
    gg__look *look;
    const char *type;
    GG_LIST(named) all;
} collection;

/* Not those in functions. */
static bool collect(TSNode node, void *data) {
    collection *c = data;
    if (!gg_node_is(node, c->type)) return true;
    TSNode outer = gg__around(node, "function_definition");
    if (!ts_node_is_null(outer) && gg__covers(c->look->definition, gg_node_span(outer))) return true;
    named d = {node, gg_enclosing_name(c->look->tree, ts_node_start_byte(gg__field(node, "name")), c->look->arena)};
    gg_list_push(&c->all, d);
    return true;
}

gg__cheat gg__each_pair(gg__look *before, gg__look *after, const char *type, gg__pair_visitor visit, gg_str *shown) {
    collection a = {.look = before, .type = type}, b = {.look = after, .type = type};
    gg__visit(before->definition, collect, &a);
    gg__visit(after->definition, collect, &b);
    gg__cheat cheat = GG__CHEAT_OK;
    for (size_t i = 0; i < a.all.len && !cheat; i++) {
        TSNode found = {0};
        size_t ordinal = 0; /* a property and its setter have one name */
        for (size_t k = 0; k < i; k++) ordinal += gg_str_equal(a.all.items[k].name, a.all.items[i].name);
        for (size_t k = 0; k < b.all.len && ts_node_is_null(found); k++)
            if (gg_str_equal(b.all.items[k].name, a.all.items[i].name) && ordinal-- == 0) found = b.all.items[k].node;
        *shown = a.all.items[i].name;
        cheat = visit(before, a.all.items[i].node, after, found, shown);
    }
    for (size_t i = 0; i < b.all.len && !cheat; i++) { /* the last one would count */
        size_t was = 0, is = 0;
        for (size_t k = 0; k < a.all.len; k++) was += gg_str_equal(a.all.items[k].name, b.all.items[i].name);
        for (size_t k = 0; k < b.all.len; k++) is += gg_str_equal(b.all.items[k].name, b.all.items[i].name);
        *shown = b.all.items[i].name;
        if (is > 1 && is > was) cheat = GG__CHEAT_TWICE;
    }
    gg_list_clear(&a.all);
    gg_list_clear(&b.all);
    return cheat;
}

/* Names, order, defaults and kinds of the parameters, without annotations. */
static gg_str signature_of(const gg__look *look, TSNode function) {
    TSNode parameters = gg__field(function, "parameters");
    gg_str out = gg_str_starts_with(gg__text(look->tree, function), GG_STR("async")) ? GG_STR("async") : GG_STR_NULL;
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode p = gg__child(parameters, i), name = gg__field(p, "name");
        if (gg_node_is(p, "comment")) continue;
        if (ts_node_is_null(name)) name = gg_node_is(p, "typed_parameter") ? gg__child(p, 0) : p;
        out = gg_arena_printf(look->arena, "%.*s, %.*s=%.*s", GG_STR_ARG(out), GG_STR_ARG(gg__text(look->tree, name)),
                              GG_STR_ARG(gg__canonical(look->tree, gg__field(p, "value"), look->arena)));
    }
    return out;
}

static gg_str decorators_of(const gg__look *look, TSNode definition) {
    TSNode holder = gg__parent(definition);
    gg_str out = GG_STR_NULL;
    for (uint32_t i = 0; gg_node_is(holder, "decorated_definition") && i < gg__child_count(holder); i++)
        if (gg_node_is(gg__child(holder, i), "decorator"))
            out = gg_arena_printf(look->arena, "%.*s\n%.*s", GG_STR_ARG(out),
                                  GG_STR_ARG(gg__canonical(look->tree, gg__child(holder, i), look->arena)));
    return out;
}

static gg__cheat compare_function(gg__look *before, TSNode a, gg__look *after, TSNode b, gg_str *shown) {
    (void)shown;
    if (ts_node_is_null(b)) return GG__CHEAT_DELETES;
    gg_str name = gg__definition_name(before->tree, a);
    bool is_private = gg_str_starts_with(name, GG_STR("_")) && !gg_str_starts_with(name, GG_STR("__"));
    if (!is_private && !gg_str_equal(signature_of(before, a), signature_of(after, b))) return GG__CHEAT_SIGNATURE;
    return gg_str_equal(decorators_of(before, a), decorators_of(after, b)) ? GG__CHEAT_OK : GG__CHEAT_BASES;
}

/* The next name that the class's body assigns to, from its statement *i on; null node behind the last. */
static TSNode next_attribute(TSNode body, uint32_t *i) {
    while (*i < gg__child_count(body)) {
        TSNode statement = gg__child(body, (*i)++), left = gg__field(gg__child(statement, 0), "left");
        if (gg_node_is(statement, "expression_statement") && gg_node_is(left, "identifier")) return left;
    }
    return (TSNode){0};
}

/* Is there a method of this name in the class's body? */
static bool has_method(const gg__look *look, TSNode body, gg_str name) {
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode inner = gg__inner(gg__child(body, i));
        if (gg_node_is(inner, "function_definition") && gg_str_equal(gg__definition_name(look->tree, inner), name))
            return true;
    }
    return false;
}

static gg__cheat compare_class(gg__look *before, TSNode a, gg__look *after, TSNode b, gg_str *shown) {
    if (ts_node_is_null(b)) return GG__CHEAT_DELETES;
    TSNode body = gg__field(a, "body"), body_now = gg__field(b, "body"), name;
    for (uint32_t i = 0; !ts_node_is_null(name = next_attribute(body, &i));) {
        TSNode now = {0};
        gg_str text = gg__text(before->tree, name);
        for (uint32_t k = 0; !ts_node_is_null(now = next_attribute(body_now, &k));)
            if (gg_str_equal(gg__text(after->tree, now), text)) break;
        *shown = text;
        if (ts_node_is_null(now)) return GG__CHEAT_DELETES;
    }
    for (uint32_t i = 0; i < gg__child_count(body_now); i++) { /* one that stands in for what is inherited */
        TSNode inner = gg__inner(gg__child(body_now, i));
        gg_str text = gg__definition_name(after->tree, inner);
        if (!gg_node_is(inner, "function_definition") || !gg__is_modules_own(text) || has_method(before, body, text))
            continue;
        *shown = text;
        return GG__CHEAT_HOOKS;
    }
    bool same = gg__same_code(before->tree, gg__field(a, "superclasses"), after->tree, gg__field(b, "superclasses")) &&
                gg_str_equal(decorators_of(before, a), decorators_of(after, b));
    return same ? GG__CHEAT_OK : GG__CHEAT_BASES;
}

gg__cheat gg__compare_shape(gg__look *before, gg__look *after, gg_str *shown) {
    gg__cheat cheat = gg__each_pair(before, after, "class_definition", compare_class, shown);
    return cheat ? cheat : gg__each_pair(before, after, "function_definition", compare_function, shown);
}
