/* What a message is spoken by.  See speakers.h. */
#include "repair/speakers.h"

#include "repair/alias.h"

/* ---- what makes a logger ----------------------------------------------------------------------------------------------- */

typedef bool (*maker)(const gg_tree *tree, TSNode value);

static bool makes_own_logger(const gg_tree *tree, TSNode value) {
    return gg_node_is(value, "call") && gg__refers_to(tree, gg__field(value, "function"), "logging.getLogger");
}

bool gg__makes_logger(const gg_tree *tree, TSNode value) {
    gg_str name = gg__called_name(tree, value);
    return gg_node_is(value, "call") && (gg_str_is(name, "getLogger") || gg_str_is(name, "get_logger"));
}

/* Is a get_logger defined in the file itself?  Then what it makes is not known. */
static bool defines_its_own(const gg_tree *tree) {
    static const char *const names[] = {"getLogger", "get_logger"};
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode child = gg__child(root, i);
        if (gg_node_is(child, "function_definition") &&
            gg__is_one_of(gg__text(tree, gg__field(child, "name")), names, GG_COUNT(names)))
            return true;
    }
    return false;
}

/* ---- what is bound to one, and to nothing else ---------------------------------------------------------------------------- */

typedef struct bindings {
    const gg_tree *tree;
    gg_str name;
    maker makes;
    TSNode owner; /* the class whose attribute it is */
    uint32_t count;
} bindings;

static bool binds_what_it_makes(TSNode node, void *data) {
    bindings *b = data;
    TSNode parent = gg__parent(node);
    b->count++;
    return gg_node_is(parent, "assignment") && b->makes(b->tree, gg__field(parent, "right"));
}

static bool is_of_another_name_or_bound_so(TSNode node, void *data) {
    bindings *b = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(b->tree, node), b->name) || !gg__is_binding(node))
        return true;
    return binds_what_it_makes(node, data);
}

/* A name of the module, or of the functions around that bind it. */
static bool is_bound_to(const gg_tree *tree, TSNode identifier, maker makes) {
    bindings b = {.tree = tree, .name = gg__text(tree, identifier), .makes = makes};
    if (!gg__is_local(tree, identifier, b.name))
        return gg__each_module_binding(tree, b.name, binds_what_it_makes, &b) && b.count > 0;
    for (TSNode at = gg__parent(identifier); !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "function_definition") && !gg__visit(at, is_of_another_name_or_bound_so, &b)) return false;
    return b.count > 0;
}

/* `self.name = made()` in the class's __init__; anything else that may set such an attribute is in the way, wherever it stands. */
static bool sets_it_so(TSNode node, void *data) {
    bindings *b = data;
    if (gg_node_is(node, "identifier") && gg_str_equal(gg__text(b->tree, node), b->name)) {
        TSNode block = gg__parent(gg__statement(node)); /* of a class: the attribute by another way */
        return !gg__is_binding(node) || !gg_node_is(gg__parent(block), "class_definition");
    }
    gg_str called = gg_node_is(node, "call") ? gg__called_name(b->tree, node) : GG_STR_NULL;
    if (gg_str_is(called, "setattr") || gg_str_is(called, "__setattr__")) return false;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(b->tree, gg__field(node, "attribute")), b->name))
        return true;
    static const char *const reading[] = {"attribute", "call", "argument_list", "if_statement", "boolean_operator"};
    TSNode parent = gg__parent(node);
    if (gg__is_one_of(gg_str_from(ts_node_type(parent)), reading, GG_COUNT(reading))) return true;
    if (!gg_node_is(parent, "assignment")) return false;
    if (!ts_node_eq(gg__field(parent, "left"), node)) return true;
    b->count++;
    gg_str method = gg__text(b->tree, gg__field(gg__function(node), "name"));
    return gg_str_is(gg__text(b->tree, gg__field(node, "object")), "self") && gg_str_is(method, "__init__") &&
           ts_node_eq(gg__class_around(node), b->owner) && b->makes(b->tree, gg__field(parent, "right"));
}

static bool is_set_to(const gg_tree *tree, TSNode attribute, maker makes) {
    bindings b = {.tree = tree, .makes = makes, .owner = gg__class_around(attribute)};
    b.name = gg__text(tree, gg__field(attribute, "attribute"));
    return gg_str_is(gg__text(tree, gg__field(attribute, "object")), "self") && !ts_node_is_null(b.owner) &&
           gg__visit(gg_tree_root(tree), sets_it_so, &b) && b.count > 0;
}

static bool is_made_by(const gg_tree *tree, TSNode object, maker makes) {
    if (makes(tree, object)) return true;
    if (gg_node_is(object, "attribute")) return is_set_to(tree, object, makes);
    return gg_node_is(object, "identifier") &&
           (gg_str_equal(gg__module_alias(tree, object, "logging"), gg__text(tree, object)) ||
            is_bound_to(tree, object, makes));
}

bool gg__is_logger(const gg_tree *tree, TSNode object) {
    if (gg__is_own_logger(tree, object)) return true;
    return !defines_its_own(tree) && is_made_by(tree, object, gg__makes_logger);
}

bool gg__is_own_logger(const gg_tree *tree, TSNode object) {
    return is_made_by(tree, object, makes_own_logger);
}
