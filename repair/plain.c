/* Comparisons of what is no tensor: shapes, dtypes, texts, and what holds them.  See infer.h. */
#include "repair/infer.h"
#include "repair/texts.h"

enum { MAX_DEPTH = 8 };

static bool is_plain(gg__inference *s, TSNode node, int depth);

static bool are_plain(gg__inference *s, TSNode display, int depth) {
    for (uint32_t i = 0; i < gg__child_count(display); i++)
        if (!is_plain(s, gg__child(display, i), depth)) return false;
    return true;
}

static bool is_tensor(gg__inference *s, TSNode node) {
    return gg__infer_node(s, node).sort == GG__TENSOR;
}

/* `x.shape`, `x.device`, `x.device.type` */
static bool is_plain_attribute(gg__inference *s, TSNode node) {
    static const char *const asked[] = {"shape", "dtype", "device"};
    TSNode object = gg__field(node, "object");
    gg_str name = gg__text(s->in->tree, gg__field(node, "attribute"));
    if (gg__is_one_of(name, asked, GG_COUNT(asked)) && is_tensor(s, object)) return true;
    return gg_str_is(name, "type") && gg_node_is(object, "attribute") &&
           gg_str_is(gg__text(s->in->tree, gg__field(object, "attribute")), "device") &&
           is_tensor(s, gg__field(object, "object"));
}

/* `x.size()`, `torch.Size([2, 3])`, `list(x.shape)`, `str(x.dtype)` */
static bool is_plain_call(gg__inference *s, TSNode node, int depth) {
    static const char *const makers[] = {"list", "tuple", "str", "len"};
    const gg_tree *tree = s->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    TSNode first = gg__child(arguments, 0);
    if (!gg_node_is(arguments, "argument_list")) return false;
    if (gg_node_is(function, "attribute") && gg_str_is(gg__text(tree, gg__field(function, "attribute")), "size") &&
        gg__child_count(arguments) == 0)
        return is_tensor(s, gg__field(function, "object"));
    if (gg__child_count(arguments) != 1) return false;
    bool sizes = gg__refers_to(tree, function, "torch.Size") &&
                 (gg_node_is(first, "list") || gg_node_is(first, "tuple") || gg_node_is(first, "attribute"));
    for (size_t i = 0; i < GG_COUNT(makers) && !sizes; i++)
        sizes = gg__names_builtin(tree, function, makers[i]) && !gg__is_number(gg__infer_node(s, first));
    return sizes && is_plain(s, first, depth);
}

static bool is_plain(gg__inference *s, TSNode node, int depth) {
    gg_str text;
    gg__vagueness vague;
    node = gg__strip_parentheses(node);
    if (depth == MAX_DEPTH) return false;
    if (gg_node_is(node, "none")) return true;
    if (gg_node_is(node, "string")) return gg__between_quotes(s->in->tree, node, &text);
    if (gg_node_is(node, "tuple") || gg_node_is(node, "list")) return are_plain(s, node, depth + 1);
    if (gg__is_number(gg__infer_node(s, node))) return true;
    if (gg__dtype_named(s, node, &vague).len) return true;
    if (gg_node_is(node, "attribute")) return is_plain_attribute(s, node);
    return gg_node_is(node, "call") && is_plain_call(s, node, depth + 1);
}

static bool is_display(TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "tuple") || gg_node_is(node, "list");
}

bool gg__compares_plainly(gg__inference *s, TSNode comparison) {
    TSNode left = gg__child(comparison, 0), right = gg__child(comparison, 1), between = ts_node_child(comparison, 1);
    gg_str op = gg__text(s->in->tree, between);
    bool member = gg_str_is(op, "in") || gg_str_is(op, "not in"), equal = gg_str_is(op, "==") || gg_str_is(op, "!=");
    if (gg__child_count(comparison) != 2 || !(equal || (member && is_display(right)))) return false;
    return is_plain(s, left, 0) && is_plain(s, right, 0);
}
