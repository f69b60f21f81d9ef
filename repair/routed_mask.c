/* Masks that choose rows, and the indices of one.  See routed.h. */
#include "repair/routed.h"

#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

bool gg__is_routed_name(const gg__routing *r, TSNode node, gg_str name) {
    return name.len && gg_node_is(node, "identifier") && gg_str_equal(gg__text(r->in->tree, node), name);
}

typedef struct change_search {
    const gg_tree *tree;
    gg_str name;
} change_search;

static bool is_of_another(TSNode changed, void *data) {
    const change_search *s = data;
    return !gg_str_equal(gg__text(s->tree, gg__root_of(changed)), s->name);
}

/* What the name is bound to, once, and is not changed; null. */
static TSNode kept_value(const gg_rule_input *in, TSNode name, TSNode *out_binding) {
    change_search s = {in->tree, gg__text(in->tree, name)};
    TSNode none = {0}, binding = gg_node_is(name, "identifier") ? gg__only_binding(in->tree, name) : none;
    TSNode around = gg__parent(binding);
    if (gg_node_is(around, "pattern_list")) around = gg__parent(around);
    *out_binding = binding;
    if (!gg_node_is(around, "assignment") || !gg__each_change(in, gg__function(name), 0, is_of_another, &s))
        return none;
    return gg__field(around, "right");
}

/* Does it hold the places that torch.topk(…) gives, of which a row has none twice? */
static bool is_of_topk(const gg_rule_input *in, TSNode name) {
    static const char *const known[] = {"topk", "sort"};
    const gg_tree *tree = in->tree;
    TSNode binding, value = kept_value(in, name, &binding), list = gg__parent(binding);
    if (gg_node_is(list, "pattern_list")) {
        if (gg__child_count(list) != 2 || !ts_node_eq(gg__child(list, 1), binding)) return false;
    } else if (gg_str_is(gg__text(tree, gg__field(value, "attribute")), "indices")) {
        value = gg__field(value, "object");
    } else {
        if (!gg_str_is(gg__text(tree, gg__field(value, "subscript")), "1")) return false;
        value = gg__field(value, "value");
    }
    TSNode function = gg__field(gg__field(value, "function"), "attribute");
    return gg_node_is(value, "call") && gg__is_one_of(gg__text(tree, function), known, GG_COUNT(known));
}

static bool is_number(const gg_rule_input *in, TSNode node) {
    bool counts = gg_node_is(node, "identifier") && gg__is_counter(in->tree, node);
    return counts || gg__infer_loosely(in, node).sort == GG__SCALAR_INT;
}

/* `selected == e`, of which no row holds more than one that is true. */
static bool is_distinct(const gg_rule_input *in, TSNode mask) {
    TSNode left = gg__child(mask, 0), right = gg__child(mask, 1);
    if (!gg_node_is(mask, "comparison_operator") || gg__child_count(mask) != 2 ||
        !gg_str_is(gg__text(in->tree, ts_node_child(mask, 1)), "=="))
        return false;
    return is_number(in, right) && is_of_topk(in, left);
}

/* `marks[e]` of `marks = F.one_hot(selected, n).permute(2, 1, 0)`: of each place of the rows. */
static bool is_marked(const gg_rule_input *in, TSNode mask) {
    const gg_tree *tree = in->tree;
    TSNode binding, value = kept_value(in, gg__field(mask, "value"), &binding), function = gg__field(value, "function");
    TSNode marks = gg__field(function, "object");
    if (!gg_node_is(mask, "subscript") || gg__child_count(mask) != 2 || !gg_node_is(gg__parent(binding), "assignment"))
        return false;
    bool turned = gg_str_is(gg__text(tree, gg__field(function, "attribute")), "permute") &&
                  gg_str_is(gg__text(tree, gg__field(value, "arguments")), "(2, 1, 0)");
    return turned && gg__refers_to(tree, gg__field(marks, "function"), "torch.nn.functional.one_hot") &&
           is_number(in, gg__field(mask, "subscript")) && is_of_topk(in, gg__child(gg__field(marks, "arguments"), 0));
}

bool gg__routed_binding(gg__routing *r, TSNode statement) {
    const gg_rule_input *in = r->in;
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left"), which;
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment")) return false;
    TSNode mask = gg__strip_parentheses(gg__chosen_by(in, assignment, &which));
    if (ts_node_is_null(mask) || (!ts_node_is_null(which) && !gg_str_is(gg__text(in->tree, which), "0"))) return false;
    gg__meta m = gg__infer_loosely(in, mask);
    bool several = gg_node_is(left, "pattern_list"), turned = several && is_marked(in, mask);
    gg_str text = gg__text(in->tree, mask);
    if (m.sort != GG__TENSOR || m.rank != (several ? 2 : 1)) return false;
    if (!gg_str_is(m.dtype, "torch.bool") && !turned) return false;
    if (several && (gg__child_count(left) != 2 || (!turned && !is_distinct(in, mask))))
        return gg__hinder(in, mask, "may choose a row more than once");
    TSNode row = several ? gg__child(left, turned) : left;
    r->row = gg__text(in->tree, row);
    r->place = several ? gg__text(in->tree, gg__child(left, !turned)) : GG_STR_NULL;
    r->rows = m.shape[turned];
    r->columns = several ? m.shape[!turned] : 0;
    r->binding = statement;
    r->mask = mask;
    r->places = turned ? gg_arena_printf(r->arena, "%.*s.t() != 0", GG_STR_ARG(text)) : text;
    r->rows_text = turned    ? gg_arena_printf(r->arena, "%.*s.any(0)", GG_STR_ARG(text))
                   : several ? gg_arena_printf(r->arena, "(%.*s).any(-1)", GG_STR_ARG(text))
                             : text;
    return gg_node_is(row, "identifier") && r->rows > 1;
}

typedef struct mask_search {
    const gg_rule_input *in;
    TSNode found;
} mask_search;

/* `x[m]`, `m.any()` of a mask of one dimension */
static bool is_no_mask(TSNode node, void *data) {
    mask_search *s = data;
    TSNode parent = gg__parent(node);
    bool read = (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "subscript"), node)) ||
                gg_node_is(parent, "attribute");
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !read) return true;
    gg__meta m = gg__infer_loosely(s->in, node);
    if (m.sort != GG__TENSOR || m.rank != 1 || !gg_str_is(m.dtype, "torch.bool") ||
        ts_node_is_null(gg__only_binding(s->in->tree, node)))
        return true;
    s->found = node;
    return false;
}

bool gg__routed_mask(gg__routing *r, TSNode statement) {
    mask_search s = {.in = r->in};
    TSNode read = gg_node_is(statement, "if_statement") ? gg__field(statement, "condition") : statement;
    if (gg__visit(read, is_no_mask, &s)) return false;
    r->mask = s.found;
    r->row = r->chosen = gg__text(r->in->tree, s.found);
    r->rows = gg__infer_loosely(r->in, s.found).shape[0];
    return r->rows > 1;
}
