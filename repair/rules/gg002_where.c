/* GG002 where: a branch on a tensor's value becomes a selection.
 * Offers: torch.where for if/else and if without else that assign the same name, for two returns, and for a conditional expression.
 * Refuses: unless both arms are proven pure, smooth, and of equal dtype and shape, and the condition a 0-d bool tensor; augmented
 * assignments, and arms that make an alias where that shows in the file (torch.where makes a copy, and says so).  Safety: exact.  Page: docs/rules/GG002.md */
#include "repair/gradients.h"
#include "repair/select.h"

typedef struct branch {
    TSNode condition; /* without a leading `not` */
    TSNode yes, no;   /* arms: blocks, expressions, or the statement behind the `if`; no may be null */
    bool negated;
    enum { EXPRESSION, ASSIGN, RETURN } form;
} branch;

/* The value of `return value`; null when there is none. */
static TSNode returned(TSNode statement) {
    if (!gg_node_is(statement, "return_statement") || gg__child_count(statement) != 1) return (TSNode){0};
    return gg__child(statement, 0);
}

/* Can both be computed and one selected?  An arm that is not selected must not poison gradients: 0 times infinity is NaN.  When the
 * condition asks whether values are finite, they are not when the other arm is taken. */
static bool selectable(const gg_rule_input *in, TSNode condition, TSNode a, TSNode b) {
    gg__meta x = gg__infer(in, a), y = gg__infer(in, b), first = x;
    x = gg__beside_number(in, a, x, y);
    y = gg__beside_number(in, b, y, first);
    if (gg__may_be_none(in, a) || gg__may_be_none(in, b)) return false;
    if (!gg__have_gentle_origins(in, gg__statement(condition), a, b)) return false;
    if (!gg__same_tensor(x, y) || !x.smooth || !y.smooth || gg__may_broadcast(in, x, a, b)) return false;
    return (x.linear && y.linear) || !gg__asks_finiteness(in->tree, condition);
}

static bool match_assign(const gg_rule_input *in, TSNode statement, branch *b) {
    TSNode yes = gg__assignment(gg__only_statement(b->yes));
    if (ts_node_is_null(yes)) return false;
    gg_str name = gg__text(in->tree, gg__field(yes, "left"));
    b->form = ASSIGN;
    if (ts_node_is_null(b->no)) {
        TSNode left = gg__field(yes, "left");
        if (gg__arms_alias_shows(in, statement, gg__field(yes, "right"), left, name)) return false;
        return gg__bound_before(in->tree, statement, name) &&
               selectable(in, b->condition, gg__field(yes, "right"), left);
    }
    TSNode no = gg__assignment(gg__only_statement(b->no));
    if (ts_node_is_null(no) || !gg_str_equal(gg__text(in->tree, gg__field(no, "left")), name)) return false;
    if (gg__arms_alias_shows(in, statement, gg__field(yes, "right"), gg__field(no, "right"), name)) return false;
    return selectable(in, b->condition, gg__field(yes, "right"), gg__field(no, "right"));
}

static bool match_return(const gg_rule_input *in, TSNode statement, branch *b) {
    TSNode yes = returned(gg__only_statement(b->yes));
    if (ts_node_is_null(yes)) return false;
    TSNode no = gg__only_statement(b->no);
    if (ts_node_is_null(b->no)) no = gg__next_statement(statement);
    if (ts_node_is_null(returned(no))) return false;
    if (ts_node_is_null(b->no)) b->no = no;
    b->form = RETURN;
    if (gg__arms_alias_shows(in, statement, yes, returned(no), GG_STR_NULL)) return false;
    return selectable(in, b->condition, yes, returned(no));
}

static void strip_not(branch *b) {
    b->condition = gg__strip_parentheses(b->condition);
    while (gg_node_is(b->condition, "not_operator")) {
        b->condition = gg__strip_parentheses(gg__field(b->condition, "argument"));
        b->negated = !b->negated;
    }
}

static bool match_branch(const gg_rule_input *in, TSNode *out_node, branch *b) {
    *b = (branch){0};
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "conditional_expression") && gg__child_count(at) == 3) {
            b->yes = gg__child(at, 0);
            b->condition = gg__child(at, 1);
            b->no = gg__child(at, 2);
            if (!gg__covers(b->condition, in->span)) continue;
            b->form = EXPRESSION;
            strip_not(b);
            *out_node = at;
            return gg__is_condition(gg__infer(in, b->condition)) && selectable(in, b->condition, b->yes, b->no) &&
                   !gg__value_alias_shows(in, at, b->yes, b->no);
        }
        if (!gg_node_is(at, "if_statement")) continue;
        b->condition = gg__field(at, "condition");
        b->yes = gg__field(at, "consequence");
        TSNode alternative = gg__field(at, "alternative");
        if (!gg__covers(b->condition, in->span) || gg_node_is(alternative, "elif_clause")) return false;
        b->no = ts_node_is_null(alternative) ? alternative : gg__field(alternative, "body");
        strip_not(b);
        *out_node = at;
        if (!gg__is_condition(gg__infer(in, b->condition))) return false;
        return match_assign(in, at, b) || match_return(in, at, b);
    }
    return false;
}

/* What the edit replaces: the branch, and the return behind it when that is its other arm. */
static gg_span replaced(TSNode node, const branch *b) {
    gg_span span = gg_node_span(node);
    if (b->form == RETURN && gg_node_is(b->no, "return_statement")) span.end = ts_node_end_byte(b->no);
    return span;
}

/* The nodes whose text the edit keeps: condition and arms. */
static void kept_of(const branch *b, TSNode kept[3]) {
    kept[0] = b->condition;
    kept[1] = b->form == EXPRESSION ? b->yes : gg__only_statement(b->yes);
    kept[2] = b->form == EXPRESSION || gg_node_is(b->no, "return_statement") ? b->no : gg__only_statement(b->no);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    branch b;
    if (!gg_str_is(in->site->id, "GB0170") || !match_branch(in, &out->node, &b)) return false;
    if (!gg__can_name(in->tree, out->node, "torch")) return false;
    /* Comments between the arms go in front of a statement; inside an expression there is no place for them. */
    gg_span span = replaced(out->node, &b);
    return !gg__has_comment(in->tree, span) || (b.form != EXPRESSION && gg__starts_line(in->tree, span.start));
}

static gg_str plain(const gg_tree *tree, TSNode node) {
    return gg__text(tree, gg__strip_parentheses(node));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    branch b;
    TSNode node = match->node;
    if (!match_branch(in, &node, &b)) return gg_fail(err, GG_ENOMATCH, "the arms are not proven to be alike");
    gg_str torch = gg__require_module(in->tree, node, "torch", arena, out);
    TSNode yes = b.yes, no = b.no;
    gg_str head = GG_STR_NULL, otherwise;
    gg_span span = replaced(node, &b);
    if (b.form == ASSIGN) {
        TSNode assignment = gg__assignment(gg__only_statement(b.yes));
        gg_str name = gg__text(in->tree, gg__field(assignment, "left"));
        yes = gg__field(assignment, "right");
        head = gg_arena_printf(arena, "%.*s = ", GG_STR_ARG(name));
        no = ts_node_is_null(b.no) ? gg__field(assignment, "left")
                                   : gg__field(gg__assignment(gg__only_statement(b.no)), "right");
        otherwise = plain(in->tree, no);
        out->copies = gg__arms_are_copies(in, node, yes, no, name);
    } else if (b.form == RETURN) {
        yes = returned(gg__only_statement(b.yes));
        no = returned(gg_node_is(b.no, "block") ? gg__only_statement(b.no) : b.no);
        head = GG_STR("return ");
        out->copies = gg__arms_are_copies(in, node, yes, no, GG_STR_NULL);
        otherwise = plain(in->tree, no);
    } else {
        otherwise = plain(in->tree, no);
        out->copies = gg__value_is_copy(in, node, yes, no);
    }
    gg_str chosen = plain(in->tree, yes), condition = plain(in->tree, b.condition);
    if (b.negated) {
        gg_str swap = chosen;
        chosen = otherwise;
        otherwise = swap;
    }
    TSNode kept[3];
    kept_of(&b, kept);
    gg_str comments = b.form == EXPRESSION ? GG_STR_NULL : gg__comments(in->tree, span, kept, GG_COUNT(kept), arena);
    gg_edits_add(out, span,
                 gg_arena_printf(arena, "%.*s%.*s%.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(comments), GG_STR_ARG(head),
                                 GG_STR_ARG(torch), GG_STR_ARG(condition), GG_STR_ARG(chosen), GG_STR_ARG(otherwise)));
    return 0;
}

const gg_rule gg_rule_where = {
    .code = "GG002",
    .name = "where",
    .title = "Select with torch.where",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
