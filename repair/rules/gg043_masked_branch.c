/* GG043 masked-branch: `if m.any():` in front of what only touches elements that m chooses.
 * Offers: the body without the condition: nothing happens where nothing is chosen.  Refuses: unless each statement is a store under that mask into a
 * tensor made in the function that nobody may have kept for a gradient, or fills a copy.  Safety: exact.  Page: docs/rules/GG043.md
 *
 * DESIGN  A store counts as a change of the tensor also where it stores nothing, and autograd raises when what it kept was changed.  So the tensor
 * must be one that nobody can have kept. */
#include "repair/infer.h"
#include "repair/kept.h"
#include "repair/known_masks.h"
#include "repair/masks.h"

/* The mask that the condition asks about: `m.any()`, `torch.any(m)`, `m.sum() > 0`; null when it is another condition. */
static TSNode mask_of(const gg_rule_input *in, TSNode condition) {
    condition = gg__strip_parentheses(condition);
    const char *asked = "any";
    if (gg_node_is(condition, "comparison_operator")) {
        gg_str op = gg__text(in->tree, ts_node_child(condition, 1));
        bool positive = gg__child_count(condition) == 2 && (gg_str_is(op, ">") || gg_str_is(op, "!=")) &&
                        gg_str_is(gg__text(in->tree, gg__child(condition, 1)), "0");
        if (!positive) return (TSNode){0};
        condition = gg__child(condition, 0);
        asked = "sum";
    }
    TSNode mask = gg__asked_of(in->tree, condition, asked);
    gg__meta m = gg__infer(in, mask);
    return m.sort == GG__TENSOR && gg_str_is(m.dtype, "torch.bool") ? mask : (TSNode){0};
}

static bool same_text(const gg_tree *tree, TSNode a, TSNode b) {
    return gg_str_equal(gg__text(tree, gg__strip_parentheses(a)), gg__text(tree, gg__strip_parentheses(b)));
}

/* ---- the body -------------------------------------------------------------------------------------------------------------------- */

static bool fits(gg__meta value, gg__meta target) {
    if (value.sort == GG__TENSOR) return value.rank == 0 && gg_str_equal(value.dtype, target.dtype);
    return gg__holds(target.dtype, value);
}

typedef struct gradients {
    const gg_rule_input *in;
    gg_str name; /* of what is stored into */
    bool given, own;
} gradients;

static bool note_gradient(TSNode node, void *data) {
    gradients *g = data;
    if (!gg_node_is(node, "identifier") && !gg_node_is(node, "attribute")) return true;
    const gg_break *record = g->in->site->first;
    gg_str text = gg__text(g->in->tree, node);
    for (size_t i = 0; record && i < record->fact_count; i++) {
        if (!gg_str_equal(record->facts[i].name, text) || !record->facts[i].requires_grad) continue;
        g->given = g->given || !gg_str_equal(text, g->name);
        g->own = g->own || gg_str_equal(text, g->name);
    }
    return true;
}

/* Would a store of the value make a tensor require gradients that does not, also where nothing is stored? */
static bool brings_gradients(const gg_rule_input *in, TSNode base, TSNode value) {
    gradients g = {.in = in, .name = gg__text(in->tree, base)};
    gg__visit(value, note_gradient, &g);
    gg__visit(base, note_gradient, &g);
    return g.given && !g.own;
}

/* `t[m] = 0.0`, `t[m] = t[m] * 2` */
static bool is_masked_store(const gg_rule_input *in, TSNode branch, TSNode assignment, TSNode mask) {
    TSNode left = gg__field(assignment, "left"), right = gg__field(assignment, "right");
    gg__masked e = {.in = in};
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(left, "subscript") ||
        !gg__masked_item(in, left, &e.item) || !same_text(in->tree, e.item.mask, mask) ||
        !gg_node_is(e.item.base, "identifier") || brings_gradients(in, e.item.base, right))
        return false;
    return (fits(gg__infer(in, right), e.item.of) || gg__is_elementwise(&e, right)) &&
           gg__may_change_local(in, branch, e.item.base);
}

/* A slice, or a number that the dimension has in any call: neither fails where nothing is chosen. */
static bool is_there(const gg_rule_input *in, TSNode base, gg__meta of, int32_t dim, TSNode index) {
    int64_t number;
    if (gg__whole_literal(in->tree, index, &number))
        return number > INT32_MIN && number < INT32_MAX &&
               gg__has_at_least(in, base, of.rank, dim, number < 0 ? -number : number + 1);
    if (!gg_node_is(index, "slice") || ts_node_child_count(index) > 3) return false; /* one colon */
    for (uint32_t i = 0; i < gg__child_count(index); i++)
        if (gg__infer(in, gg__child(index, i)).sort != GG__SCALAR_INT) return false;
    return ts_node_child_count(index) - gg__child_count(index) == 1;
}

/* `t[m, 0] = 0.0`, `t[:, m] = v` */
static bool is_store_beside(const gg_rule_input *in, TSNode branch, TSNode assignment, TSNode mask) {
    TSNode left = gg__field(assignment, "left"), base = gg__field(left, "value"), indices[GG__MAX_RANK];
    TSNode right = gg__field(assignment, "right");
    gg__meta of = gg__infer(in, base), by = gg__infer(in, mask);
    uint32_t count = gg_node_is(left, "subscript") ? gg__indices_of(left, indices, GG__MAX_RANK) : 0;
    bool masked = false, apart = of.device.len && by.device.len && !gg_str_equal(of.device, by.device);
    if (!gg_node_is(assignment, "assignment") || of.sort != GG__TENSOR || count < 2 || (int32_t)count > of.rank ||
        of.vague || apart || by.rank != 1 || !gg_node_is(base, "identifier") || brings_gradients(in, base, right))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        bool here = same_text(in->tree, indices[i], mask);
        if (here ? masked || by.shape[0] < 0 || by.shape[0] != of.shape[i]
                 : !is_there(in, base, of, (int32_t)i, indices[i]))
            return false;
        masked = masked || here;
    }
    return masked && fits(gg__infer(in, right), of) && gg__may_change_local(in, branch, base);
}

/* `t.copy_(torch.where(m, t * 2, t))`, as GG040 writes it */
static bool is_selected_store(const gg_rule_input *in, TSNode branch, TSNode call, TSNode mask) {
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function"), x = gg__field(function, "object");
    TSNode chosen = gg__child(gg__field(call, "arguments"), 0), arguments = gg__field(chosen, "arguments");
    gg__meta value = gg__infer(in, chosen), target = gg__infer(in, x);
    return gg_node_is(call, "call") && gg_str_is(gg__text(tree, gg__field(function, "attribute")), "copy_") &&
           gg__child_count(gg__field(call, "arguments")) == 1 && gg_node_is(x, "identifier") &&
           gg__refers_to(tree, gg__field(chosen, "function"), "torch.where") && gg__child_count(arguments) == 3 &&
           same_text(tree, gg__child(arguments, 0), mask) && same_text(tree, gg__child(arguments, 2), x) &&
           value.sort == GG__TENSOR && gg_str_equal(value.dtype, target.dtype) && !value.vague &&
           gg__same_shape(value, target) && gg__may_change_local(in, branch, x);
}

/* `t = t.masked_fill(m, 0.0)`, `t.masked_fill_(m, 0.0)` */
static bool is_fill(const gg_rule_input *in, TSNode branch, TSNode expression, TSNode mask) {
    bool assigned = gg_node_is(expression, "assignment");
    TSNode call = assigned ? gg__field(expression, "right") : expression, arguments = gg__field(call, "arguments");
    TSNode function = gg__field(call, "function"), x = gg__field(function, "object");
    gg__meta m = gg__infer(in, x);
    bool named =
        gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), assigned ? "masked_fill" : "masked_fill_") &&
        gg_node_is(x, "identifier") && gg__child_count(arguments) == 2;
    if (!named || m.sort != GG__TENSOR || !same_text(in->tree, gg__child(arguments, 0), mask) ||
        !fits(gg__infer(in, gg__child(arguments, 1)), m) || brings_gradients(in, x, gg__child(arguments, 1)))
        return false;
    gg_str name = gg__text(in->tree, x);
    if (!assigned) return gg__may_change_local(in, branch, x);
    return gg_str_equal(gg__text(in->tree, gg__field(expression, "left")), name) &&
           !gg__alias_shows(in, branch, x, name);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode branch = gg__statement(gg_node_at(in->tree, in->span)), body = gg__field(branch, "consequence");
    TSNode condition = gg__field(branch, "condition");
    out->node = branch;
    if (!gg_str_is(in->site->id, "GB0170") || !gg_node_is(branch, "if_statement") ||
        !ts_node_is_null(gg__field(branch, "alternative")) || in->span.end > ts_node_end_byte(condition) ||
        !gg__starts_line(in->tree, ts_node_start_byte(branch)) || !gg__visit(body, gg__is_no_long_text, NULL))
        return false;
    TSNode mask = mask_of(in, condition), first = gg__child(body, 0);
    if (ts_node_is_null(mask) ||
        gg__has_comment(in->tree, (gg_span){ts_node_start_byte(branch), ts_node_start_byte(first)}))
        return false;
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i), expression = gg__child(statement, 0);
        if (gg_node_is(statement, "comment")) continue;
        if (!gg_node_is(statement, "expression_statement") ||
            (!is_masked_store(in, branch, expression, mask) && !is_store_beside(in, branch, expression, mask) &&
             !is_fill(in, branch, expression, mask) && !is_selected_store(in, branch, expression, mask)))
            return false;
    }
    return gg__child_count(body) > 0;
}

/* Takes the header away, and one level of indentation off the lines behind it. */
static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    const gg_text *text = gg_tree_text(in->tree);
    TSNode body = gg__field(match->node, "consequence");
    uint32_t start = ts_node_start_byte(match->node), first = ts_node_start_byte(body);
    (void)arena, (void)err;
    size_t extra =
        gg__starts_line(in->tree, first) ? gg__indent(in->tree, first).len - gg__indent(in->tree, start).len : 0;
    for (uint32_t i = 0; i < gg__child_count(body);
         i++) { /* `t = t.masked_fill(m, 0)`: a new tensor, also where nothing is filled */
        TSNode left = gg__field(gg__child(gg__child(body, i), 0), "left");
        if (gg_node_is(left, "identifier"))
            out->copies = out->copies || gg__is_copy(in, match->node, left, gg__text(in->tree, left));
    }
    gg_edits_add(out, (gg_span){start, first}, GG_STR_NULL);
    uint32_t line = gg_text_position(text, first, GG_UTF8).line;
    uint32_t last = gg_text_position(text, ts_node_end_byte(body), GG_UTF8).line;
    for (line++; line <= last; line++) {
        uint32_t at = gg_text_line_start(text, line);
        if (gg__indent(in->tree, at).len >= extra && gg_str_trim(gg_text_line(text, line)).len)
            gg_edits_add(out, (gg_span){at, at + (uint32_t)extra}, GG_STR_NULL);
    }
    return 0;
}

const gg_rule gg_rule_masked_branch = {
    .code = "GG043",
    .name = "masked-branch",
    .title = "Leave the condition out: nothing is stored where nothing is chosen",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
