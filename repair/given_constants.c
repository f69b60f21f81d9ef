/* Attributes that hold the same number or text until somebody sets them.  See pure_parts.h.
 *
 * DESIGN  torch.compiler.assume_constant_result guards numbers and texts that the function is given, and no tensors, arrays or objects: what they hold would
 * stay as it was when the graph was made.  So an attribute is given only where its class shows what it holds, in every instance; or as `int(self.n)`, where a
 * capture saw an integer: of anything else the compiler asks for the number, which is a break, and no stale value. */
#include "repair/built.h"
#include "repair/pure_parts.h"

static bool is_literal(TSNode node) {
    static const char *const kinds[] = {"integer", "float", "true", "false"};
    if (gg_node_is(node, "unary_operator")) node = gg__field(node, "argument");
    for (size_t i = 0; i < GG_COUNT(kinds); i++)
        if (gg_node_is(node, kinds[i])) return true;
    if (!gg_node_is(node, "string")) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (gg_node_is(gg__child(node, i), "interpolation")) return false;
    return true;
}

static bool is_display(TSNode node) {
    if (!gg_node_is(node, "tuple")) return false; /* a list may be empty some day, which functions fail on */
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (!is_literal(gg__child(node, i))) return false;
    return gg__child_count(node) > 0;
}

static bool is_plain_type(gg_str type) {
    static const char *const types[] = {"int", "float", "str", "bool"};
    return gg__is_one_of(type, types, GG_COUNT(types));
}

/* What the parameter's type or default says that it is. */
static gg__known of_parameter(const gg_tree *tree, TSNode at, gg_str name) {
    TSNode function = gg__function(at), parameter = gg__parameter(tree, function, name);
    TSNode type = gg__field(parameter, "type"), value = gg__field(parameter, "value");
    if (ts_node_is_null(parameter) || gg__binds(tree, gg__field(function, "body"), name)) return GG__NOT_KNOWN;
    if (!ts_node_is_null(type) && !is_plain_type(gg__text(tree, type))) return GG__NOT_KNOWN;
    if (!ts_node_is_null(value)) {
        if (is_display(value)) return GG__SEVERAL;
        return is_literal(value) ? GG__ONE : GG__NOT_KNOWN;
    }
    return ts_node_is_null(type) ? GG__SOMETHING : GG__ONE;
}

static gg__known of_value(const gg_tree *tree, TSNode node) {
    static const char *const makers[] = {"int", "float", "str", "bool", "len", "round"};
    node = gg__strip_parentheses(node);
    if (is_literal(node)) return GG__ONE;
    if (is_display(node)) return GG__SEVERAL;
    if (gg_node_is(node, "identifier")) return of_parameter(tree, node, gg__text(tree, node));
    for (size_t i = 0; gg_node_is(node, "call") && i < GG_COUNT(makers); i++)
        if (gg__names_builtin(tree, gg__field(node, "function"), makers[i])) return GG__ONE;
    if (!gg_node_is(node, "binary_operator")) return GG__NOT_KNOWN;
    gg__known a = of_value(tree, gg__field(node, "left")), b = of_value(tree, gg__field(node, "right"));
    return (a == GG__ONE || a == GG__SOMETHING) && (b == GG__ONE || b == GG__SOMETHING) ? (a < b ? a : b)
                                                                                        : GG__NOT_KNOWN;
}

typedef struct search {
    const gg_tree *tree;
    gg_str path, name; /* self.seed; seed */
    gg__known known;
    uint32_t count;
} search;

static bool note(search *s, TSNode value) {
    gg__known known = of_value(s->tree, value);
    if (s->count++ == 0 || known < s->known) s->known = known;
    return known != GG__NOT_KNOWN;
}

/* Every place of the file that sets such an attribute, of whichever class. */
static bool on_setting(TSNode node, void *data) {
    search *s = data;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(s->tree, node), s->path)) return true;
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    if (gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node))
        return note(s, gg__field(parent, "right"));
    if (gg_node_is(parent, "augmented_assignment") && ts_node_eq(gg__field(parent, "left"), node))
        return note(s, gg__field(parent, "right"));
    bool pattern = gg_node_is(parent, "pattern_list") || gg_node_is(parent, "tuple_pattern");
    if (pattern) {
        TSNode right = gg__field(around, "right");
        uint32_t at = 0;
        while (!ts_node_eq(gg__child(parent, at), node)) at++;
        bool beside = gg_node_is(around, "assignment") &&
                      (gg_node_is(right, "expression_list") || gg_node_is(right, "tuple")) &&
                      gg__child_count(right) == gg__child_count(parent);
        return beside && note(s, gg__child(right, at));
    }
    bool other = gg_node_is(parent, "for_statement")
                     ? ts_node_eq(gg__field(parent, "left"), node)
                     : gg_node_is(parent, "delete_statement") || gg_node_is(parent, "as_pattern_target");
    return !other;
}

/* `seed = 3` in the body of a class, which is no method or property of that name */
static bool on_class_member(TSNode node, void *data) {
    search *s = data;
    TSNode inner = gg__child(node, 0), block = gg__parent(node);
    if (gg_node_is(node, "function_definition") && gg_node_is(gg__parent(block), "class_definition"))
        return !gg_str_equal(gg__text(s->tree, gg__field(node, "name")), s->name);
    if (gg_node_is(node, "decorated_definition")) return true;
    bool member = gg_node_is(node, "expression_statement") && gg_node_is(block, "block") &&
                  gg_node_is(gg__parent(block), "class_definition");
    if (!member || !gg_node_is(inner, "assignment") ||
        !gg_str_equal(gg__text(s->tree, gg__field(inner, "left")), s->name))
        return true;
    TSNode value = gg__field(inner, "right"), type = gg__field(inner, "type");
    bool said = ts_node_is_null(type) || is_plain_type(gg__text(s->tree, type));
    return said && !ts_node_is_null(value) && note(s, value);
}

static bool is_no_property(TSNode node, void *data) {
    const search *s = data;
    TSNode definition = gg__field(node, "definition");
    return !gg_node_is(node, "decorated_definition") ||
           !gg_str_equal(gg__text(s->tree, gg__field(definition, "name")), s->name);
}

static bool on_node(TSNode node, void *data) {
    return on_setting(node, data) && on_class_member(node, data) && is_no_property(node, data);
}

gg__known gg__known_attribute(const gg_rule_input *in, TSNode attribute) {
    search s = {in->tree, gg__text(in->tree, attribute), gg__text(in->tree, gg__field(attribute, "attribute")),
                GG__NOT_KNOWN, 0};
    TSNode object = gg__field(attribute, "object");
    if (!gg_node_is(object, "identifier") || !gg_str_is(gg__text(in->tree, object), "self")) return GG__NOT_KNOWN;
    bool known = gg__visit(gg_tree_root(in->tree), on_node, &s);
    return known && s.count ? s.known : GG__NOT_KNOWN;
}
