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

typedef struct reading {
    const gg_rule_input *in;
    gg_str name;
} reading;

/* Is nothing made of the name that shares its memory? */
static bool is_only_read(TSNode node, void *data) {
    const reading *r = data;
    const gg_tree *tree = r->in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(tree, node), r->name))
        return true;
    TSNode parent = gg__parent(node), call = gg__parent(parent);
    if (gg__is_binding(node) || gg_node_is(parent, "comparison_operator")) return true;
    bool given = gg_node_is(parent, "argument_list");
    if (given && gg__refers_to(tree, gg__field(call, "function"), "torch.nn.functional.one_hot")) return true;
    bool part = gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), node) &&
                gg_node_is(call, "argument_list");
    return part || gg__is_consumed(r->in, node);
}

/* `torch.topk(E, k)`, `E.topk(k, dim=-1)`, `torch.topk(E, k, dim=1)` of two dimensions: along the last one. */
static bool is_topk(const gg_rule_input *in, TSNode call, int32_t rank) {
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           object = gg__field(function, "object");
    bool torchs = gg__refers_to(tree, function, "torch.topk");
    if (!gg_node_is(call, "call") || !gg_str_is(gg__text(tree, gg__field(function, "attribute")), "topk")) return false;
    bool tensors = gg_node_is(object, "call") || gg__infer_loosely(in, object).sort == GG__TENSOR;
    if (!torchs && (!tensors || gg_str_is(gg__text(tree, gg__field(gg__field(object, "function"), "object")), "self")))
        return false;
    for (uint32_t i = torchs ? 2 : 1; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        bool named = gg_node_is(argument, "keyword_argument");
        bool dim = !named || gg_str_is(gg__text(tree, gg__field(argument, "name")), "dim");
        gg_str along = gg__text(tree, named ? value : argument);
        if (dim && !gg_str_is(along, "-1") && !(rank == 2 && gg_str_is(along, "1"))) return false;
    }
    return true;
}

/* Does it hold the places that torch.topk(…) gives, of which a row has none twice?  `*out`: the pattern that names the values, too; null. */
static bool is_of_topk(const gg_rule_input *in, TSNode name, TSNode *out) {
    const gg_tree *tree = in->tree;
    reading r = {in, gg__text(tree, name)};
    TSNode binding, value = kept_value(in, name, &binding), list = gg__parent(binding), none = {0};
    *out = none;
    if (ts_node_is_null(value) || !gg__visit(gg__field(gg__function(name), "body"), is_only_read, &r)) return false;
    if (gg_node_is(list, "pattern_list")) {
        if (gg__child_count(list) != 2 || !ts_node_eq(gg__child(list, 1), binding)) return false;
        *out = list;
    } else if (gg_str_is(gg__text(tree, gg__field(value, "attribute")), "indices")) {
        value = gg__field(value, "object");
    } else {
        if (!gg_str_is(gg__text(tree, gg__field(value, "subscript")), "1")) return false;
        value = gg__field(value, "value");
    }
    gg__meta places = gg__infer_loosely(in, name);
    return is_topk(in, value, places.sort == GG__TENSOR ? places.rank : 0);
}

static bool is_number(const gg_rule_input *in, TSNode node) {
    bool counts = gg_node_is(node, "identifier") && gg__is_counter(in->tree, node);
    return counts || gg__infer_loosely(in, node).sort == GG__SCALAR_INT;
}

/* `selected == e`, of which no row holds more than one that is true. */
static bool is_distinct(const gg_rule_input *in, TSNode mask, TSNode *pair) {
    TSNode left = gg__child(mask, 0), right = gg__child(mask, 1);
    if (!gg_node_is(mask, "comparison_operator") || gg__child_count(mask) != 2 ||
        !gg_str_is(gg__text(in->tree, ts_node_child(mask, 1)), "=="))
        return false;
    return is_number(in, right) && is_of_topk(in, left, pair);
}

/* `marks[e]` of `marks = F.one_hot(selected, n).permute(2, 1, 0)`: of each place of the rows. */
static bool is_marked(const gg_rule_input *in, TSNode mask, TSNode *pair) {
    const gg_tree *tree = in->tree;
    TSNode binding, value = kept_value(in, gg__field(mask, "value"), &binding), function = gg__field(value, "function");
    TSNode marks = gg__field(function, "object");
    reading r = {in, gg__text(tree, gg__field(mask, "value"))};
    if (ts_node_is_null(value) || !gg__visit(gg__field(gg__function(mask), "body"), is_only_read, &r)) return false;
    if (!gg_node_is(mask, "subscript") || gg__child_count(mask) != 2 || !gg_node_is(gg__parent(binding), "assignment"))
        return false;
    bool turned = gg_str_is(gg__text(tree, gg__field(function, "attribute")), "permute") &&
                  gg_str_is(gg__text(tree, gg__field(value, "arguments")), "(2, 1, 0)");
    return turned && gg__refers_to(tree, gg__field(marks, "function"), "torch.nn.functional.one_hot") &&
           is_number(in, gg__field(mask, "subscript")) &&
           is_of_topk(in, gg__child(gg__field(marks, "arguments"), 0), pair);
}

bool gg__routed_binding(gg__routing *r, TSNode statement) {
    const gg_rule_input *in = r->in;
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left"), which;
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment")) return false;
    TSNode mask = gg__strip_parentheses(gg__chosen_by(in, assignment, &which));
    if (ts_node_is_null(mask) || (!ts_node_is_null(which) && !gg_str_is(gg__text(in->tree, which), "0"))) return false;
    gg__meta m = gg__infer_loosely(in, mask);
    bool pattern = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    bool several = pattern && gg__child_count(left) > 1, turned = several && is_marked(in, mask, &r->pair);
    gg_str text = gg__text(in->tree, mask);
    if (m.sort != GG__TENSOR || m.rank != (several ? 2 : 1)) return false;
    if (!gg_str_is(m.dtype, "torch.bool") && !turned) return false;
    if (several && (gg__child_count(left) != 2 || (!turned && !is_distinct(in, mask, &r->pair))))
        return gg__hinder(in, mask, "may choose a row more than once");
    TSNode row = pattern ? gg__child(left, turned) : left;
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
    r->row = r->rows_text = gg__text(r->in->tree, s.found);
    r->rows = gg__infer_loosely(r->in, s.found).shape[0];
    return r->rows > 1;
}
