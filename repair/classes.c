/* Losses of classes under a mask, in a branch that asks whether it chooses anything: `if valid.any(): loss = F.cross_entropy(z[valid], y[valid])`.  See masks.h.
 *
 * DESIGN  cross_entropy raises for a class that is not there, so it is not harmless where it does not run.  But where the branch is not taken since the mask
 * chooses nothing, each row has the class that is ignored, and nothing raises; the sum of no losses is 0, and so is its gradient. */
#include "repair/infer.h"
#include "repair/known_masks.h"
#include "repair/masks.h"
#include "repair/texts.h"

static gg__none contrary(gg__none e) {
    return e == GG__NONE_IF_IT_HOLDS       ? GG__NONE_UNLESS_IT_HOLDS
           : e == GG__NONE_UNLESS_IT_HOLDS ? GG__NONE_IF_IT_HOLDS
                                           : GG__NEITHER;
}

static bool is_asked(const gg_tree *tree, TSNode call, const char *what, gg_str mask) {
    TSNode x = gg__asked_of(tree, call, what);
    return !ts_node_is_null(x) && gg_str_equal(gg__text(tree, x), mask);
}

gg__none gg__compared_with_none(const gg_tree *tree, TSNode comparison) {
    static const struct {
        const char *op, *number;
        gg__none says;
    } compared[] = {{"==", "0", GG__NONE_IF_IT_HOLDS},
                    {"<", "1", GG__NONE_IF_IT_HOLDS},
                    {">", "0", GG__NONE_UNLESS_IT_HOLDS},
                    {"!=", "0", GG__NONE_UNLESS_IT_HOLDS},
                    {">=", "1", GG__NONE_UNLESS_IT_HOLDS}};
    gg_str op = gg__text(tree, ts_node_child(comparison, 1)), number = gg__text(tree, gg__child(comparison, 1));
    for (size_t i = 0; i < GG_COUNT(compared); i++)
        if (gg_str_is(op, compared[i].op) && gg_str_is(number, compared[i].number)) return compared[i].says;
    return GG__NEITHER;
}

/* When does the condition tell that a mask, by its name, chooses nothing? */
static gg__none tells(const gg_tree *tree, TSNode condition, gg_str mask) {
    condition = gg__strip_parentheses(condition);
    if (gg_node_is(condition, "not_operator")) {
        TSNode inner = gg__strip_parentheses(gg__field(condition, "argument"));
        return gg_node_is(inner, "not_operator") ? GG__NEITHER : contrary(tells(tree, inner, mask));
    }
    if (is_asked(tree, condition, "any", mask) || is_asked(tree, condition, "sum", mask))
        return GG__NONE_UNLESS_IT_HOLDS;
    if (!gg_node_is(condition, "comparison_operator") || gg__child_count(condition) != 2 ||
        !is_asked(tree, gg__strip_parentheses(gg__child(condition, 0)), "sum", mask))
        return GG__NEITHER;
    return gg__compared_with_none(tree, condition);
}

TSNode gg__asked_for_mask(const gg_tree *tree, TSNode node, gg_str mask) {
    static const char *const exits[] = {"return_statement"};
    TSNode at = node, none = {0};
    for (TSNode parent = gg__parent(at); !ts_node_is_null(parent); at = parent, parent = gg__parent(at)) {
        if (gg_node_is(parent, "conditional_expression") && !ts_node_eq(gg__child(parent, 1), at)) {
            TSNode condition = gg__child(parent, 1);
            bool yes = ts_node_eq(gg__child(parent, 0), at);
            return tells(tree, condition, mask) == (yes ? GG__NONE_UNLESS_IT_HOLDS : GG__NONE_IF_IT_HOLDS) ? condition
                                                                                                           : none;
        }
        if (gg_node_is(parent, "block")) break;
        if (gg_node_is(parent, "lambda") || gg__is_comprehension(parent)) return none;
    }
    for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
         before = ts_node_prev_named_sibling(before)) {
        TSNode condition = gg__field(before, "condition");
        if (gg_node_is(before, "if_statement") && ts_node_is_null(gg__field(before, "alternative")) &&
            gg__ends_with(gg__field(before, "consequence"), exits, GG_COUNT(exits)) &&
            tells(tree, condition, mask) == GG__NONE_IF_IT_HOLDS)
            return condition;
    }
    TSNode block = gg__parent(at), branch = gg__parent(block);
    bool otherwise = gg_node_is(branch, "else_clause");
    if (otherwise) branch = gg__parent(branch);
    TSNode condition = gg__field(branch, "condition"), alternative = gg__field(branch, "alternative");
    if (!gg_node_is(branch, "if_statement") || gg_node_is(alternative, "elif_clause")) return none;
    return tells(tree, condition, mask) == (otherwise ? GG__NONE_IF_IT_HOLDS : GG__NONE_UNLESS_IT_HOLDS) ? condition
                                                                                                         : none;
}

/* The operands of `torch.where(m, y, -100)`; false for another expression. */
static bool read_where(const gg_tree *tree, TSNode node, TSNode out[3]) {
    node = gg__strip_parentheses(node);
    TSNode arguments = gg__field(node, "arguments");
    if (!gg_node_is(node, "call") || !gg__refers_to(tree, gg__field(node, "function"), "torch.where") ||
        gg__child_count(arguments) != 3)
        return false;
    for (uint32_t i = 0; i < 3; i++) out[i] = gg__strip_parentheses(gg__child(arguments, i));
    return true;
}

gg__meta gg__class_loss(gg__inference *s, const gg__call *call) {
    const gg_tree *tree = s->in->tree;
    TSNode given[2], rows[3], classes[3];
    double ignored, other;
    if (!gg__bind_arguments(s, call, (const char *const[]){"target", "*reduction"}, 2, given) ||
        !read_where(tree, gg__child(call->arguments, 0), rows) || !read_where(tree, given[0], classes))
        return gg__unknown;
    gg_str mask = gg__text(tree, classes[0]), reduction;
    bool sum = gg__between_quotes(tree, given[1], &reduction) && gg_str_is(reduction, "sum");
    bool shown = gg_node_is(rows[0], "subscript") && gg__child_count(rows[0]) == 3 &&
                 gg_str_equal(gg__text(tree, gg__field(rows[0], "value")), mask) &&
                 gg_node_is(gg__child(rows[0], 1), "ellipsis") && gg_node_is(gg__child(rows[0], 2), "none");
    bool kept = gg__literal_value(tree, rows[2], &other) && gg__literal_value(tree, classes[2], &ignored);
    gg__meta x = call->x, y = gg__infer_node(s, given[0]), m = gg__infer_node(s, classes[0]);
    if (!sum || !shown || !kept || ignored != -100 || !gg_node_is(classes[0], "identifier") || x.sort != GG__TENSOR ||
        !gg__is_floating(x.dtype) || gg__is_half(x.dtype) || x.vague || x.rank != 2 || y.rank != 1 ||
        !gg_str_is(y.dtype, "torch.int64") || !gg__is_bool(m.dtype) || m.rank != 1 || x.shape[0] != y.shape[0] ||
        !gg_str_equal(x.device, y.device))
        return gg__unknown;
    TSNode asked = gg__asked_for_mask(tree, call->node, mask);
    if (ts_node_is_null(asked) || !gg__covers(gg__parent(asked), s->in->span) ||
        s->in->span.end > ts_node_end_byte(asked) ||
        !gg__stays_from(tree, gg__function(call->node), mask, ts_node_start_byte(asked)))
        return gg__unknown;
    gg__meta out = gg__widened(gg__elementwise(x, x), true);
    out.linear = false;
    return gg__reduced(s, out, (TSNode){0}, (TSNode){0});
}
