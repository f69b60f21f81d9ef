/* Classes that a constructor is given to make its parts of, `expert_class=Expert`, where nobody in the file gives it another.  See built.h. */
#include "repair/built.h"

typedef struct givers {
    const gg_tree *tree;
    gg_str owner, name; /* the class; its constructor's parameter */
    gg_str usual;       /* what that is by default */
    uint32_t position;  /* of the parameter among those behind `self` */
} givers;

/* `Moe(config, Other)`, `Moe(*given)`: does it come as far as the parameter? */
static bool reaches(const givers *g, TSNode arguments) {
    uint32_t positional = 0;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "list_splat") || gg_node_is(argument, "dictionary_splat")) return true;
        positional += !gg_node_is(argument, "keyword_argument") && !gg_node_is(argument, "comment");
    }
    return positional > g->position;
}

static bool gives_no_other(TSNode node, void *data) {
    const givers *g = data;
    const gg_tree *tree = g->tree;
    if (gg_node_is(node, "keyword_argument") && gg_str_equal(gg__text(tree, gg__field(node, "name")), g->name))
        return gg_str_equal(gg__text(tree, gg__field(node, "value")), g->usual);
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), g->owner)) return true;
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "argument_list") && gg_node_is(gg__parent(parent), "class_definition")) return false;
    bool called = gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), node);
    return !called || !reaches(g, gg__field(parent, "arguments"));
}

gg_str gg__class_by_default(const gg_tree *tree, TSNode name) {
    TSNode function = gg__function(name), class = gg__class_around(function);
    TSNode parameter = gg__parameter(tree, function, gg__text(tree, name)), usual = gg__field(parameter, "value");
    if (ts_node_is_null(class) || !gg_node_is(usual, "identifier") ||
        !gg_str_is(gg__text(tree, gg__field(function, "name")), "__init__") ||
        gg__binds(tree, gg__field(function, "body"), gg__text(tree, name)))
        return GG_STR_NULL;
    givers g = {.tree = tree, .owner = gg__text(tree, gg__field(class, "name")), .name = gg__text(tree, name)};
    g.usual = gg__text(tree, usual);
    uint32_t place = gg__place_of_parameter(gg__field(function, "parameters"), parameter);
    if (place == 0) return GG_STR_NULL; /* it is `self` itself */
    g.position = place - 1;
    return gg__visit(gg_tree_root(tree), gives_no_other, &g) ? g.usual : GG_STR_NULL;
}
