/* GG107 empty-selection: work that is done only where a mask chooses something: `if i.numel() > 0:` in front of it, `if not m.any(): continue`, or a
 * loop over those indices for which it does, as mixtures of experts have it.
 * Offers: to do it in any case, for no rows too, with torch._dynamo.config.capture_dynamic_output_shape_ops = True.  Refuses: unless it does nothing
 * then: it stores at what is chosen alone, and calls what changes nothing and takes tensors without rows.
 * Safety: config.  Page: docs/rules/GG107.md
 *
 * DESIGN  Neither part removes a break without the other: the size of what is chosen gets a symbol, and nothing may ask whether it is zero. */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/nothing.h"
#include "repair/scalar.h"

static const char setting[] = "capture_dynamic_output_shape_ops";

typedef struct asked {
    gg__nothing nothing;
    TSNode guard; /* the `if`; null where it is a loop over those that are hit */
    bool skips;   /* it goes on with the next one where nothing is chosen */
    gg__hits hits;
    TSNode squeezed[4], first; /* `m[i].squeeze(0)`, `i = i[0]`: what makes a number of an index that is a tensor */
    size_t squeezed_count;
} asked;

/* ---- what a guard asks -------------------------------------------------------------------------------------------------------- */

/* M of `M.any()`, `M.sum()`, `torch.any(M)`, with `.item()` behind it or in bool() */
static TSNode mask_of(const gg_rule_input *in, TSNode node) {
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"), none = {0};
    if (gg_node_is(node, "call") && gg__child_count(arguments) == 0 &&
        gg_str_is(gg__text(tree, gg__field(function, "attribute")), "item"))
        node = gg__field(function, "object");
    TSNode m = gg__call_operand(in, node, "any", 0, true);
    if (ts_node_is_null(m)) m = gg__call_operand(in, node, "sum", 0, true);
    return gg_str_is(gg__infer(in, m).dtype, "torch.bool") ? m : none;
}

/* The statement in front that binds a name together with others: `i, j = torch.where(m)`. */
static bool learn_index(gg__nothing *n, TSNode guard, TSNode name) {
    const gg_tree *tree = n->in->tree;
    gg_str text = gg__text(tree, name);
    if (!gg_node_is(name, "identifier")) return false;
    for (TSNode at = ts_node_prev_named_sibling(guard); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
        if (gg__binds(tree, at, text)) return gg__learn_indices(n, at) && gg__is_no_index(n, name);
    }
    return false;
}

/* Learns what is empty where the condition is false, or true with `*when_true`. */
static bool read_condition(gg__nothing *n, TSNode guard, bool *when_true) {
    const gg_tree *tree = n->in->tree;
    TSNode node = gg__strip_parentheses(gg__field(guard, "condition"));
    *when_true = false;
    if (gg_node_is(node, "not_operator")) {
        *when_true = true;
        node = gg__strip_parentheses(gg__field(node, "argument"));
    } else if (gg_node_is(node, "comparison_operator") && gg__child_count(node) == 2) {
        gg__none says = gg__compared_with_none(tree, node);
        if (says == GG__NEITHER) return false;
        *when_true = says == GG__NONE_IF_IT_HOLDS;
        node = gg__strip_parentheses(gg__child(node, 0));
    }
    bool elements;
    TSNode index = gg__size_asked(tree, node, &elements);
    if (!ts_node_is_null(index)) return learn_index(n, guard, index);
    TSNode mask = mask_of(n->in, node);
    n->bools = true;
    return !ts_node_is_null(mask) && gg__is_no_mask(n, gg__text(tree, gg__strip_parentheses(mask)));
}

static bool read_guard(const gg_rule_input *in, TSNode guard, asked *a) {
    TSNode block = gg__field(guard, "consequence"), around = gg__parent(guard);
    bool when_true;
    *a = (asked){.nothing = {.in = in}, .guard = guard};
    if (!gg_node_is(guard, "if_statement") || !ts_node_is_null(gg__field(guard, "alternative")) ||
        !read_condition(&a->nothing, guard, &when_true))
        return false;
    if (!when_true) {
        a->nothing.block = block;
        return gg__does_nothing(&a->nothing, gg__child(block, 0));
    }
    a->skips = true;
    a->nothing.block = around;
    return gg_node_is(gg__parent(around), "for_statement") &&
           gg_node_is(gg__only_statement(block), "continue_statement") &&
           gg__does_nothing(&a->nothing, gg__next_statement(guard));
}

/* ---- what a loop over hits goes over ------------------------------------------------------------------------------------------ */

typedef struct index_uses {
    asked *a;
    const gg_tree *tree;
    gg_str name;
} index_uses;

/* An index that is a tensor is only used as one; with a dimension, of the mask, where that is taken away again. */
static bool is_plain_use(TSNode node, void *data) {
    index_uses *u = data;
    asked *a = u->a;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(u->tree, node), u->name))
        return true;
    if (gg__covers(a->first, gg_node_span(node))) return true;
    TSNode subscript = gg__parent(node), value = gg__field(subscript, "value"), up = gg__parent(subscript);
    if (gg_node_is(subscript, "comparison_operator") && !ts_node_is_null(a->first)) return true;
    if (!gg_node_is(subscript, "subscript") || gg__child_count(subscript) != 2) return false;
    if (!a->hits.rows || !ts_node_is_null(a->first)) return true;
    if (!gg_str_equal(gg__text(u->tree, value), gg__text(u->tree, a->hits.mask)))
        return gg_str_is(gg__text(u->tree, gg__field(value, "object")), "self");
    TSNode call = gg__parent(up), arguments = gg__field(call, "arguments");
    if (a->squeezed_count == GG_COUNT(a->squeezed) || !gg_node_is(up, "attribute") || !gg_node_is(call, "call") ||
        !gg_str_is(gg__text(u->tree, gg__field(up, "attribute")), "squeeze") ||
        !gg_str_is(gg__text(u->tree, arguments), "(0)"))
        return false;
    a->squeezed[a->squeezed_count++] = call;
    return true;
}

/* `m[i]`, `m[:, :, i]`, `m[..., i]` */
static bool learn_masks(asked *a, gg_str index, gg_arena *arena) {
    gg_str m = gg__text(a->nothing.in->tree, a->hits.mask);
    gg_str colons = GG_STR("");
    for (int32_t i = 0; i < a->hits.axis; i++) colons = gg_arena_printf(arena, "%.*s:, ", GG_STR_ARG(colons));
    gg_str one = gg_arena_printf(arena, "%.*s[%.*s%.*s]", GG_STR_ARG(m), GG_STR_ARG(colons), GG_STR_ARG(index));
    bool known = gg__is_no_mask(&a->nothing, one);
    if (a->hits.axis == a->hits.rank - 1)
        known = known && gg__is_no_mask(&a->nothing,
                                        gg_arena_printf(arena, "%.*s[..., %.*s]", GG_STR_ARG(m), GG_STR_ARG(index)));
    if (a->squeezed_count)
        known = known && gg__is_no_mask(&a->nothing, gg_arena_printf(arena, "%.*s.squeeze(0)", GG_STR_ARG(one)));
    return known;
}

static bool read_loop(const gg_rule_input *in, TSNode loop, gg_arena *arena, asked *a) {
    const gg_tree *tree = in->tree;
    TSNode body = gg__field(loop, "body"), index = gg__field(loop, "left");
    *a = (asked){.nothing = {.in = in, .block = body}};
    if (!gg__read_hits(in, loop, &a->hits)) return false;
    a->nothing.bools = gg_str_is(gg__infer(in, a->hits.mask).dtype, "torch.bool");
    index_uses u = {a, tree, gg__text(tree, index)};
    TSNode start = gg__child(body, 0), assignment = gg__child(start, 0);
    if (gg_node_is(start, "comment")) start = gg__next_statement(start), assignment = gg__child(start, 0);
    char first[96];
    snprintf(first, sizeof(first), "%.*s[0]", GG_STR_ARG(gg_str_slice(u.name, 0, u.name.len < 80 ? u.name.len : 80)));
    if (a->hits.rows && gg_node_is(assignment, "assignment") &&
        gg_str_equal(gg__text(tree, gg__field(assignment, "left")), u.name) &&
        gg_str_is(gg__text(tree, gg__field(assignment, "right")), first)) {
        a->first = start;
        start = gg__next_statement(start);
    }
    if (a->hits.tensors && !gg__visit(body, is_plain_use, &u)) return false;
    if (gg__binds(tree, body, gg__text(tree, a->hits.mask)) || ts_node_is_null(start)) return false;
    return learn_masks(a, u.name, arena) && gg__does_nothing(&a->nothing, start);
}

/* ---- the site ------------------------------------------------------------------------------------------------------------------ */

typedef struct binder {
    const gg_tree *tree;
    TSNode statement;
} binder;

static bool is_bound_elsewhere(TSNode node, void *data) {
    const binder *b = data;
    return !gg_node_is(node, "identifier") || !gg__binds(b->tree, b->statement, gg__text(b->tree, node));
}

/* The guard or loop at the site, or one behind it that asks for what its statement binds. */
static bool find(const gg_rule_input *in, gg_arena *arena, asked *a) {
    TSNode first = gg__statement(gg_node_at(in->tree, in->span));
    binder b = {in->tree, first};
    for (TSNode at = first; !ts_node_is_null(at); at = gg__next_statement(at)) {
        bool loop = gg_node_is(at, "for_statement");
        TSNode head = gg__field(at, loop ? "right" : "condition");
        if (ts_node_is_null(head) || (!ts_node_eq(at, first) && gg__visit(head, is_bound_elsewhere, &b))) continue;
        if (loop ? read_loop(in, at, arena, a) : read_guard(in, at, a)) return true;
    }
    return false;
}

/* No text over lines, whose indentation is its own. */
static bool is_on_a_line(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "string") || ts_node_start_point(node).row == ts_node_end_point(node).row;
}

/* Where what is done begins: on the line of the `if`, or with the first comment or statement below. */
static uint32_t start_of(const gg_tree *tree, TSNode guard) {
    TSNode block = gg__field(guard, "consequence"), condition = gg__field(guard, "condition");
    uint32_t end = ts_node_start_byte(block);
    gg_str between = gg_text_slice(gg_tree_text(tree), (gg_span){ts_node_end_byte(condition), end});
    for (size_t i = 0; i < between.len; i++) {
        if (between.ptr[i] != '\n') continue;
        while (i < between.len && gg_str_contains(GG_STR(" \t\r\n"), gg_str_slice(between, i, i + 1))) i++;
        return ts_node_end_byte(condition) + (uint32_t)i;
    }
    return end;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0036", "GB0170", "GB0124", "GB0033", "GB0000", "GB7000"};
    if (!gg__has_id(in, ids, GG_COUNT(ids)) || (!gg__can_set(in->tree, setting) && !gg__is_set(in->tree, setting)))
        return false;
    gg_arena *arena = gg_arena_new();
    asked a = {0};
    bool found = find(in, arena, &a);
    if (found && !ts_node_is_null(a.guard)) { /* comments in the block stay, others would be lost */
        gg_span head = {ts_node_start_byte(a.guard), a.skips ? ts_node_end_byte(a.guard) : start_of(in->tree, a.guard)};
        found = !gg__has_comment(in->tree, head) && gg__alone_on_line(in->tree, a.guard) &&
                gg__visit(a.guard, is_on_a_line, NULL);
    }
    out->node = ts_node_is_null(a.guard) ? a.hits.loop : a.guard;
    gg_arena_free(arena);
    return found;
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------------ */

/* The block in place of the `if` around it, less deep. */
static void take_out(const gg_tree *tree, TSNode guard, gg_arena *arena, gg_edits *out) {
    uint32_t start = start_of(tree, guard);
    gg_str outer = gg__indent(tree, ts_node_start_byte(guard)), inner = gg__indent(tree, start);
    gg_str text = gg_text_slice(gg_tree_text(tree), (gg_span){start, ts_node_end_byte(guard)});
    gg_str result = GG_STR("");
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '\n') end++;
        if (end < text.len) end++;
        gg_str line = gg_str_slice(text, at, end);
        if (at > 0 && inner.len > outer.len && gg_str_starts_with(line, inner))
            line = gg_str_slice(line, inner.len - outer.len, line.len);
        result = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(result), GG_STR_ARG(line));
        at = end;
    }
    gg_edits_add(out, gg_node_span(guard), result);
}

static void edit_loop(const gg_tree *tree, const asked *a, gg_arena *arena, gg_edits *out) {
    TSNode right = gg__field(a->hits.loop, "right");
    if (!ts_node_is_null(a->hits.statement)) gg__delete_statement(tree, a->hits.statement, out);
    if (!ts_node_is_null(a->first)) gg__delete_statement(tree, a->first, out);
    gg_edits_add(out, gg_node_span(right),
                 gg_arena_printf(arena, "range(%.*s.shape[0])", GG_STR_ARG(gg__text(tree, a->hits.sized))));
    for (size_t i = 0; i < a->squeezed_count; i++) {
        TSNode object = gg__field(gg__field(a->squeezed[i], "function"), "object");
        gg_edits_add(out, (gg_span){ts_node_end_byte(object), ts_node_end_byte(a->squeezed[i])}, GG_STR(""));
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    asked a = {0};
    (void)match;
    if (!find(in, arena, &a)) return gg_fail(err, GG_ENOMATCH, "not proven to do nothing where nothing is chosen");
    if (!gg__is_set(in->tree, setting)) gg__set(in->tree, setting, GG_STR_NULL, arena, out);
    if (ts_node_is_null(a.guard))
        edit_loop(in->tree, &a, arena, out);
    else if (a.skips)
        gg__delete_statement(in->tree, a.guard, out);
    else
        take_out(in->tree, a.guard, arena, out);
    return 0;
}

const gg_rule gg_rule_empty_selection = {
    .code = "GG107",
    .name = "empty-selection",
    .title = "Do it for empty selections too, in a graph that holds their sizes",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
