/* Whether tensors that attributes hold are changed in place under another name.  See alias.h.  Any thread. */
#include "repair/alias.h"
#include "repair/texts.h"

enum { MAX_KEPT = 16 };

typedef struct keepers { /* names of one function that may hold one of the tensors */
    const gg_rule_input *in;
    TSNode branch; /* where the attributes may do what they like */
    const gg_str *attributes;
    size_t attribute_count;
    gg_str names[MAX_KEPT];
    size_t count;
    bool lost; /* who holds it is not known */
} keepers;

static bool is_attribute_name(const keepers *k, gg_str name) {
    for (size_t i = 0; i < k->attribute_count; i++)
        if (gg_str_equal(k->attributes[i], name)) return true;
    return false;
}

static bool is_attribute(const keepers *k, TSNode node) {
    return gg_node_is(node, "attribute") && is_attribute_name(k, gg__text(k->in->tree, gg__field(node, "attribute")));
}

static bool is_keeper(const keepers *k, TSNode node) {
    gg_str name = gg__text(k->in->tree, node);
    for (size_t i = 0; gg_node_is(node, "identifier") && !gg__is_member_name(node) && i < k->count; i++)
        if (gg_str_equal(k->names[i], name)) return true;
    return false;
}

static bool names_none(TSNode node, void *data) {
    const keepers *k = data;
    return !is_attribute(k, node) && !is_keeper(k, node);
}

/* … but for what only reads it */
static bool gives_none(TSNode node, void *data) {
    const keepers *k = data;
    return names_none(node, data) || gg__is_consumed(k->in, node);
}

static bool add_name(TSNode node, void *data) {
    keepers *k = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || is_keeper(k, node)) return true;
    if (k->count == MAX_KEPT)
        k->lost = true;
    else
        k->names[k->count++] = gg__text(k->in->tree, node);
    return true;
}

static bool note(TSNode node, void *data) {
    static const char *const binds[] = {"assignment", "augmented_assignment", "for_statement", "for_in_clause"};
    keepers *k = data;
    bool named = gg_node_is(node, "named_expression"), handed = false;
    TSNode left = gg__field(node, named ? "name" : "left"), right = gg__field(node, named ? "value" : "right");
    if (gg__covers(k->branch, gg_node_span(node))) return true;
    if (gg_node_is(node, "return_statement") || gg_node_is(node, "yield") || gg_node_is(node, "lambda")) handed = true;
    for (size_t i = 0; i < GG_COUNT(binds); i++) named = named || gg_node_is(node, binds[i]);
    if (handed) k->lost = k->lost || !gg__visit(node, gives_none, k);
    if (!named || is_attribute(k, left) || gg__visit(right, gives_none, k)) return true; /* they are looked at alike */
    if (gg_node_is(left, "attribute") || gg_node_is(left, "subscript")) k->lost = true;  /* kept for others */
    gg__visit(left, add_name, k);
    return true;
}

/* `self.register_buffer("small", self.scale)` stores it under one of the attributes, and these are looked at alike. */
static bool is_registered_among_them(const keepers *k, TSNode node) {
    const gg_tree *tree = k->in->tree;
    TSNode arguments = gg__parent(node), function = gg__field(gg__parent(arguments), "function");
    TSNode first = gg__child(arguments, 0);
    gg_str name;
    bool registers = gg_node_is(arguments, "argument_list") &&
                     gg_str_is(gg__text(tree, gg__field(function, "attribute")), "register_buffer");
    return registers && !ts_node_eq(first, node) && gg__between_quotes(tree, first, &name) &&
           is_attribute_name(k, name);
}

static bool is_none_of_them(TSNode changed, void *data) {
    const keepers *k = data;
    if (is_attribute(k, changed) && is_registered_among_them(k, changed)) return true;
    return gg__covers(k->branch, gg_node_span(changed)) || gg__visit(changed, names_none, data);
}

/* An array shares the tensor's memory. */
static bool is_no_array(TSNode node, void *data) {
    const gg_rule_input *in = data;
    return !gg_node_is(node, "attribute") || !gg_str_is(gg__text(in->tree, gg__field(node, "attribute")), "numpy");
}

static bool is_unchanged_in(TSNode function, void *data) {
    keepers k = *(const keepers *)data;
    if (!gg_node_is(function, "function_definition") || gg__visit(function, names_none, &k)) return true;
    for (size_t before = SIZE_MAX; before != k.count && !k.lost;) {
        before = k.count;
        gg__visit(gg__field(function, "body"), note, &k);
    }
    if (k.lost || (!gg__visit(function, is_no_array, (void *)k.in))) return false;
    return gg__each_change(k.in, function, 0, is_none_of_them, &k);
}

bool gg__are_unchanged_attributes(const gg_rule_input *in, TSNode branch, const gg_str *names, size_t count) {
    gg_site nowhere;
    gg_rule_input blind = gg__blind(in, &nowhere);
    keepers k = {.in = &blind, .branch = branch, .attributes = names, .attribute_count = count};
    return gg__changes_nothing(&blind) || gg__visit(gg_tree_root(in->tree), is_unchanged_in, &k);
}
