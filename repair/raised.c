/* Blocks that only raise, and statements for which somebody has asked whether it is compiled.  See truth.h. */
#include "repair/truth.h"

/* `sys.exit(1)` */
static bool exits(const gg_tree *tree, TSNode statement) {
    TSNode call = gg__child(statement, 0);
    return gg_node_is(statement, "expression_statement") && gg_node_is(call, "call") &&
           gg__refers_to(tree, gg__field(call, "function"), "sys.exit");
}

static bool makes(const gg_tree *tree, TSNode statement) {
    TSNode inner = gg__child(statement, 0);
    return gg_node_is(statement, "expression_statement") && gg_node_is(inner, "assignment") &&
           gg_node_is(gg__field(inner, "left"), "identifier") && gg__is_harmless(tree, gg__field(inner, "right"));
}

TSNode gg__only_raise(const gg_rule_input *in, TSNode block) {
    TSNode last = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i);
        if (gg_node_is(child, "comment")) continue;
        if (!ts_node_is_null(last) && !gg__is_diagnostic(in, last) && !makes(in->tree, last)) return (TSNode){0};
        last = child;
    }
    bool raises = gg_node_is(last, "raise_statement") && gg__child_count(last) == 1;
    return raises || exits(in->tree, last) ? last : (TSNode){0};
}

bool gg__is_told_apart(const gg_tree *tree, TSNode statement) {
    for (TSNode at = gg__parent(statement); !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "if_statement") &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("is_compiling()")))
            return true;
    return false;
}
