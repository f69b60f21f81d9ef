/* Operations that make a tensor of their own, which autograd does not keep.  See kept.h.
 *
 * Of derivatives.yaml: those whose formulas read `result`, as exp and softmax, are not here; nor what may give a view, as einsum of one operand. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/infer.h"
#include "repair/kept.h"

#define IS_ONE(name, words) gg__is_one_of(name, words, GG_COUNT(words))

/* `torch.add(a, b, out=t)` gives t, which others have; `**options` may say so. */
static bool may_give_another(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++)
        if (gg_node_is(gg__child(arguments, i), "dictionary_splat")) return true;
    return gg__is_in_place_by_keyword(tree, call);
}

static bool is_torchs(gg_str name, uint32_t count) {
    static const char *const makers[] = {"full", "full_like", "randn",   "rand", "addmm",
                                         "cat",  "stack",     "baddbmm", "where"};
    return IS_ONE(name, makers) || (gg_str_is(name, "einsum") && count > 2);
}

static bool is_of_either_form(gg_str name) {
    static const char *const makers[] = {"matmul", "mm",    "bmm",         "add",    "sub",
                                         "mul",    "clone", "masked_fill", "gather", "index_select"};
    return IS_ONE(name, makers);
}

static bool is_functional(gg_str name) {
    static const char *const makers[] = {"linear",    "conv1d",     "conv2d", "conv3d",
                                         "embedding", "layer_norm", "gelu",   "logsigmoid"};
    return IS_ONE(name, makers);
}

bool gg__forgets_result(const gg_rule_input *in, TSNode value) {
    const gg_tree *tree = in->tree;
    bool like;
    value = gg__strip_parentheses(value);
    if (gg_node_is(value, "binary_operator")) {
        static const char *const ops[] = {"+", "-", "*", "/", "@"};
        return IS_ONE(gg__text(tree, gg__field(value, "operator")), ops);
    }
    TSNode function = gg__field(value, "function"), object = gg__field(function, "object");
    TSNode arguments = gg__field(value, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute")), holder = gg__text(tree, object);
    if (!gg_node_is(value, "call") || !gg_node_is(arguments, "argument_list") || may_give_another(tree, value))
        return false;
    if (gg__makes_anew(tree, value, &like)) return true;
    if (holder.len == 0) return false;
    if (gg_str_equal(holder, gg__module_alias(tree, value, "torch")))
        return is_torchs(name, gg__child_count(arguments)) || is_of_either_form(name);
    if (gg_str_equal(holder, gg__module_alias(tree, value, "torch.nn.functional"))) return is_functional(name);
    if (is_of_either_form(name) && (gg_str_is(name, "clone") || gg__infer_loosely(in, object).sort == GG__TENSOR))
        return true;
    return gg__is_built_to_forget(tree, function); /* last: it looks at the whole file */
}
