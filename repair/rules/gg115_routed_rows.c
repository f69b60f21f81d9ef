/* GG115 routed-rows: rows that a mask chooses go through a module, and are stored back: `out[i] += w[i, None] * expert(x[i])` of a mixture of experts.
 * Offers: all rows through the module, and torch.where.  Refuses: modules that do not treat each row alike, rows that may be chosen twice, and what else reads
 * the chosen rows.
 * Safety: numeric.  Page: docs/rules/GG115.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/routed.h"

/* ---- statements ------------------------------------------------------------------------------------------------------------------------ */

static void rewrite(gg__routing *r, TSNode node, gg_str text) {
    if (r->edits) gg_edits_add(r->edits, gg_node_span(node), text);
}

static bool read_temporary(gg__routing *r, TSNode assignment) {
    TSNode left = gg__field(assignment, "left");
    gg__rows value;
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(left, "identifier") ||
        r->temporary_count == GG__MAX_TEMPORARIES || !gg__routed_rows(r, gg__field(assignment, "right"), &value))
        return false;
    r->temporaries[r->temporary_count++] = (gg__temporary){gg__text(r->in->tree, left), value.rank};
    rewrite(r, gg__field(assignment, "right"), value.text);
    return true;
}

static bool is_store_target(const gg__routing *r, TSNode target, gg__rows value) {
    gg__meta m = gg__infer_loosely(r->in, target);
    return gg_node_is(target, "identifier") && m.sort == GG__TENSOR && m.rank == value.rank && m.shape[0] == r->rows &&
           gg__is_floating(m.dtype) &&
           !gg_str_is(m.layout, "?"); /* perhaps expanded: copy_ raises then, a store does not */
}

/* `out = torch.zeros_like(x)` in front of the loop around: a tensor that no gradient keeps. */
static bool is_made_for_it(const gg_rule_input *in, TSNode target) {
    static const char *const makers[] = {"zeros_like", "zeros",     "new_zeros", "empty_like",
                                         "empty",      "new_empty", "full_like", "clone"};
    gg_str name = gg__text(in->tree, target);
    TSNode at = target, loop = gg__parent(gg__parent(gg__statement(target)));
    while (gg_node_is(loop, "if_statement")) loop = gg__parent(gg__parent(loop));
    if (gg_node_is(loop, "for_statement") && !gg__binds(in->tree, loop, name)) at = loop;
    TSNode value = gg__value_at(in->tree, at, name), function = gg__field(value, "function");
    return gg_node_is(value, "call") &&
           gg__is_one_of(gg__text(in->tree, gg__field(function, "attribute")), makers, GG_COUNT(makers));
}

/* `out[i] = …`, `out[i] += …`, `out.index_add_(0, i, …)` */
static bool read_store(gg__routing *r, TSNode inner) {
    const gg_tree *tree = r->in->tree;
    TSNode left = gg__field(inner, "left"), function = gg__field(inner, "function"),
           arguments = gg__field(inner, "arguments");
    bool adds = gg_node_is(inner, "augmented_assignment"), indexed = gg_node_is(inner, "call");
    TSNode target = indexed ? gg__field(function, "object") : gg__field(left, "value");
    TSNode right = indexed ? gg__child(arguments, 2) : gg__field(inner, "right");
    gg__rows value;
    if (indexed) {
        if (!gg_str_is(gg__text(tree, gg__field(function, "attribute")), "index_add_") ||
            gg__child_count(arguments) != 3 || !gg_str_is(gg__text(tree, gg__child(arguments, 0)), "0") ||
            !gg__is_routed_name(r, gg__child(arguments, 1), r->row) || ts_node_is_null(r->binding))
            return false;
    } else if (!gg_node_is(left, "subscript") || gg__child_count(left) != 2 ||
               !gg__is_routed_name(r, gg__field(left, "subscript"), r->row) ||
               (adds && !gg_str_is(gg__text(tree, gg__field(inner, "operator")), "+=")) ||
               (!adds && !gg_node_is(inner, "assignment"))) {
        return false;
    }
    if (!gg__routed_rows(r, right, &value) || !is_store_target(r, target, value)) return false;
    gg_str out = gg__text(tree, target), mask = gg__routed_mask_text(r, value.rank);
    if (r->store_count++ == 0) r->target = target;
    if (!ts_node_is_null(r->guard) && !is_made_for_it(r->in, target))
        return gg__hinder(r->in, target, "is changed where no row is chosen, too, which its gradient may not take");
    rewrite(r, inner,
            adds || indexed ? gg_arena_printf(r->arena, "%.*s.add_(%.*s)", GG_STR_ARG(out),
                                              GG_STR_ARG(gg__routed_where(r, mask, value.text, GG_STR("0"))))
                            : gg_arena_printf(r->arena, "%.*s.copy_(%.*s)", GG_STR_ARG(out),
                                              GG_STR_ARG(gg__routed_where(r, mask, value.text, out))));
    return true;
}

/* Is no chosen row, and none of the indices, named there? */
static bool is_no_mention(TSNode node, void *data) {
    const gg__routing *r = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (ts_node_start_byte(node) >= ts_node_start_byte(r->first) && ts_node_end_byte(node) <= ts_node_end_byte(r->last))
        return true;
    if (gg__covers(r->binding, gg_node_span(node)) || gg__covers(r->guard, gg_node_span(node))) return true;
    bool index =
        !ts_node_is_null(r->binding) && (gg__is_routed_name(r, node, r->row) || gg__is_routed_name(r, node, r->place));
    return (!index && gg__routed_temporary(r, node) == NULL) || gg__hinder(r->in, node, "is read elsewhere, too");
}

static bool read_statements(gg__routing *r, TSNode from) {
    for (TSNode at = from; !ts_node_is_null(at); at = ts_node_next_named_sibling(at)) {
        TSNode inner = gg__child(at, 0);
        if (gg_node_is(at, "comment")) continue;
        bool reads = gg_node_is(at, "expression_statement") && gg__child_count(at) == 1 &&
                     !gg__has_comment(r->in->tree, gg_node_span(at)) &&
                     (read_store(r, inner) || read_temporary(r, inner));
        if (!reads && (!ts_node_is_null(r->guard) || r->store_count == 0))
            return r->takes &&
                   gg__hinder(r->in, at,
                              "does more with the rows that are chosen than a module of each, sums and products");
        if (!reads) break;
        if (ts_node_is_null(r->first)) r->first = at;
        r->last = at;
    }
    return r->store_count > 0 && r->takes && gg__visit(gg__field(gg__function(from), "body"), is_no_mention, r);
}

/* ---- the guard ---------------------------------------------------------------------------------------------------------------------------- */

/* When does the condition tell that nothing is chosen? */
static gg__none tells(const gg__routing *r, TSNode condition) {
    const gg_tree *tree = r->in->tree;
    TSNode asked = gg__strip_parentheses(condition);
    bool elements;
    if (gg_node_is(asked, "not_operator")) {
        gg__none inner = tells(r, gg__field(asked, "argument"));
        return inner == GG__NONE_IF_IT_HOLDS       ? GG__NONE_UNLESS_IT_HOLDS
               : inner == GG__NONE_UNLESS_IT_HOLDS ? GG__NONE_IF_IT_HOLDS
                                                   : inner;
    }
    gg__none told = GG__NONE_UNLESS_IT_HOLDS;
    if (gg_node_is(asked, "comparison_operator") && gg__child_count(asked) == 2) {
        told = gg__compared_with_none(tree, asked);
        asked = gg__child(asked, 0);
    }
    TSNode of = gg__size_asked(tree, asked, &elements), function = gg__field(asked, "function");
    if (!ts_node_is_null(r->binding)) return gg__is_routed_name(r, of, r->row) ? told : GG__NEITHER;
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    bool sums =
        (gg_str_is(name, "any") || gg_str_is(name, "sum")) && gg__child_count(gg__field(asked, "arguments")) == 0;
    return sums && gg__is_routed_name(r, gg__field(function, "object"), r->row) ? told : GG__NEITHER;
}

static TSNode match_guard(gg__routing *r, TSNode statement) {
    TSNode none = {0}, body = gg__field(statement, "consequence"), only = gg__only_statement(body);
    if (!gg_node_is(statement, "if_statement")) return statement;
    gg__none told = tells(r, gg__field(statement, "condition"));
    if (told == GG__NEITHER || !ts_node_is_null(gg__field(statement, "alternative"))) return none;
    r->guard = statement;
    r->skips = told == GG__NONE_IF_IT_HOLDS;
    if (gg__has_comment(r->in->tree, gg_node_span(statement))) return none;
    if (r->skips) return gg_node_is(only, "continue_statement") ? ts_node_next_named_sibling(statement) : none;
    return ts_node_start_point(body).row > ts_node_start_point(statement).row ? gg__child(body, 0) : none;
}

static bool find(gg__routing *r) {
    TSNode statement = gg__statement(gg_node_at(r->in->tree, r->in->span));
    if (!gg_node_is(gg__parent(statement), "block") || !r->in->site->first) return false;
    TSNode from = statement;
    if (gg__routed_binding(r, statement))
        from = gg__next_statement(statement);
    else if (!ts_node_is_null(r->mask) || !gg__routed_mask(r, statement))
        return false;
    if (ts_node_is_null(from)) return false;
    from = match_guard(r, from);
    return !ts_node_is_null(from) && read_statements(r, from);
}

static bool is_such_a_break(const gg_rule_input *in) {
    static const char *const ids[] = {"GB0036", "GB0170"};
    return gg__has_id(in, ids, GG_COUNT(ids));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_arena *arena = gg_arena_new();
    gg__routing r = {.in = in, .arena = arena, .torch = GG_STR("torch"), .chosen = GG_STR("chosen")};
    bool fits = is_such_a_break(in) && find(&r) && gg__can_name(in->tree, r.first, "torch");
    out->node = ts_node_is_null(r.binding) ? r.first : r.binding;
    gg_arena_free(arena);
    return fits;
}

/* `chosen = (choice == e).view(out.shape[:1] + (1,) * (out.dim() - 1))`: with other sizes it is an error, and no row for all. */
static gg_str chosen_text(const gg__routing *r) {
    gg_str out = gg__text(r->in->tree, r->target), mask = r->rows_text, dim = GG_STR("1");
    bool loose = r->place.len == 0 && !gg_node_is(r->mask, "identifier") && !gg_node_is(r->mask, "call");
    if (ts_node_is_null(r->binding)) dim = gg_arena_printf(r->arena, "%.*s.dim()", GG_STR_ARG(mask));
    return gg_arena_printf(r->arena, "%.*s = %s%.*s%s.view(%.*s.shape[:%.*s] + (1,) * (%.*s.dim() - %.*s))",
                           GG_STR_ARG(r->chosen), loose ? "(" : "", GG_STR_ARG(mask), loose ? ")" : "", GG_STR_ARG(out),
                           GG_STR_ARG(dim), GG_STR_ARG(out), GG_STR_ARG(dim));
}

/* The body of the guard moves out of it. */
static void take_out(const gg__routing *r, gg_str before, gg_edits *out) {
    const gg_tree *tree = r->in->tree;
    const gg_text *text = gg_tree_text(tree);
    uint32_t start = ts_node_start_byte(r->guard), at = ts_node_start_byte(r->first);
    gg_edits_add(out, (gg_span){start, at}, before);
    gg_str indent = gg__indent(tree, start);
    for (TSNode node = r->first; !ts_node_eq(node, r->last);) {
        node = ts_node_next_named_sibling(node);
        uint32_t line = gg_text_line_start(text, ts_node_start_point(node).row);
        gg_edits_add(out, (gg_span){line, ts_node_start_byte(node)}, indent);
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match;
    gg__routing r = {.in = in, .arena = arena, .edits = out};
    TSNode node = gg_node_at(in->tree, in->span);
    r.torch = gg__require_module(in->tree, node, "torch", arena, out);
    r.chosen = gg__free_name(in->tree, "chosen", arena);
    if (r.chosen.len == 0 || !find(&r)) return gg_fail(err, GG_ENOMATCH, "the rows are not proven to be treated alike");
    gg_str chosen = chosen_text(&r), line = GG_STR("");
    bool guarded = !ts_node_is_null(r.guard);
    if (ts_node_is_null(r.binding)) {
        uint32_t start = ts_node_start_byte(guarded ? r.guard : r.first);
        line = gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(chosen), GG_STR_ARG(gg__newline(in->tree)),
                               GG_STR_ARG(gg__indent(in->tree, start)));
    } else {
        gg_edits_add(out, gg_node_span(r.binding), chosen);
    }
    if (guarded && r.skips) gg__delete_statement(in->tree, r.guard, out);
    if (guarded && !r.skips)
        take_out(&r, line, out);
    else if (line.len)
        gg_edits_add(out, (gg_span){ts_node_start_byte(r.first), ts_node_start_byte(r.first)}, line);
    return 0;
}

const gg_rule gg_rule_routed_rows = {
    .code = "GG115",
    .name = "routed-rows",
    .title = "Let all rows through the module, and select with torch.where",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
