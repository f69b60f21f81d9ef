/* A branch as functions that torch.cond takes.  See graph_branches.h. */
#include "repair/graph_branches.h"

#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"

/* ---- which arms there are ------------------------------------------------------------------------------------------------------ */

/* The innermost branch that asks; an if, or a conditional expression. */
static TSNode find_branch(const gg_rule_input *in) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at)) {
        bool expression = gg_node_is(at, "conditional_expression") && gg__child_count(at) == 3;
        TSNode condition = expression ? gg__child(at, 1) : gg__field(at, "condition");
        if ((expression || gg_node_is(at, "if_statement")) && gg__covers(condition, in->span)) return at;
    }
    return (TSNode){0};
}

/* The `return value` or `continue` that the statements end with. */
static TSNode end_of(gg__stretch body) {
    TSNode last = {0};
    for (uint32_t i = body.from; i < body.to; i++)
        if (!gg_node_is(gg__child(body.block, i), "comment")) last = gg__child(body.block, i);
    bool ends =
        gg_node_is(last, "continue_statement") || (gg_node_is(last, "return_statement") && gg__child_count(last) == 1);
    return ends ? last : (TSNode){0};
}

static bool add_arm(gg__graph_branches *b, TSNode clause, TSNode condition, gg__stretch body) {
    if (b->count == GG__MAX_ARMS) return false;
    TSNode end = end_of(body), none = {0}, value = gg_node_is(end, "return_statement") ? gg__child(end, 0) : none;
    b->arms[b->count++] =
        (gg__graph_arm){.clause = clause, .condition = condition, .body = body, .end = end, .value = value};
    return true;
}

/* The statements behind the branch, to the end of their block: they move to the right. */
static bool add_rest(gg__graph_branches *b) {
    TSNode none = {0}, first = gg__next_statement(b->node), block = gg__parent(b->node);
    gg__stretch rest = gg__stretch_of(block);
    if (ts_node_is_null(first)) return false;
    while (rest.from < rest.to && !ts_node_eq(gg__child(block, rest.from), first)) rest.from++;
    while (gg_node_is(gg__child(block, rest.to - 1), "comment")) rest.to--;
    for (uint32_t i = rest.from; i < rest.to; i++) {
        TSNode statement = gg__child(block, i);
        if (!gg__visit(statement, gg__is_no_long_text, NULL))
            return gg__hinder(b->s.in, statement, "has a string of several lines, which cannot be moved");
    }
    return gg__alone_on_line(b->s.in->tree, gg__child(block, rest.to - 1)) && add_arm(b, none, none, rest);
}

static bool are_ended(const gg__graph_branches *b, const char *type) {
    for (size_t i = 0; i < b->count; i++)
        if (!gg_node_is(b->arms[i].end, type)) return false;
    return true;
}

/* `return a if c else b`, `y = a if c else b` */
static bool find_operands(gg__graph_branches *b, TSNode node) {
    const gg_tree *tree = b->s.in->tree;
    TSNode none = {0}, statement = gg__statement(node), assignment = gg__assignment(statement);
    TSNode value = gg__field(assignment, "right");
    if (gg_node_is(statement, "return_statement") && gg__child_count(statement) == 1) value = gg__child(statement, 0);
    if (ts_node_is_null(value) || !ts_node_eq(gg__strip_parentheses(value), node) ||
        gg__has_comment(tree, gg_node_span(statement)))
        return false;
    b->valued = b->expression = true;
    b->target = gg__field(assignment, "left");
    for (uint32_t i = 0; i < 3; i += 2) {
        add_arm(b, none, i ? none : gg__child(node, 1), (gg__stretch){node, i, i + 1});
        b->arms[i / 2].value = gg__child(node, i);
        if (gg_node_is(gg__child(node, i), "tuple")) return false;
    }
    return true;
}

static bool find_arms(gg__graph_branches *b) {
    TSNode none = {0};
    bool known =
        add_arm(b, b->node, gg__field(b->node, "condition"), gg__stretch_of(gg__field(b->node, "consequence")));
    bool otherwise = false, any = false;
    for (uint32_t i = 0; known && i < gg__child_count(b->node); i++) {
        TSNode child = gg__child(b->node, i);
        if (gg_node_is(child, "elif_clause"))
            known = add_arm(b, child, gg__field(child, "condition"), gg__stretch_of(gg__field(child, "consequence")));
        if (!gg_node_is(child, "else_clause")) continue;
        known = add_arm(b, child, none, gg__stretch_of(gg__field(child, "body")));
        otherwise = true;
    }
    if (!known) return gg__hinder(b->s.in, b->node, "has more than %d arms", GG__MAX_ARMS);
    for (size_t i = 0; i < b->count; i++) any = any || !ts_node_is_null(b->arms[i].end);
    if (!any) return otherwise || add_arm(b, none, none, (gg__stretch){0});
    b->valued = are_ended(b, "return_statement");
    b->s.skips = are_ended(b, "continue_statement") && gg_node_is(gg__parent(gg__parent(b->node)), "for_statement");
    if (b->s.skips) return !otherwise && add_rest(b);
    return b->valued && (otherwise || (add_rest(b) && are_ended(b, "return_statement")));
}

/* ---- what they give ------------------------------------------------------------------------------------------------------------ */

bool gg__is_returned_held(gg__graph_branches *b, gg__graph_arm *arm, TSNode value) {
    return gg__is_held(&b->s, &arm->inner, value) && !gg__is_made_in(b->s.in->tree, &arm->inner, value);
}

/* A tensor, or a tuple of them: what others hold is copied, where that does not show. */
static bool may_return(gg__graph_branches *b, gg__graph_arm *arm, TSNode value) {
    const gg_rule_input *in = b->s.in;
    value = gg__strip_parentheses(value);
    if (gg_node_is(value, "tuple") || gg_node_is(value, "expression_list")) {
        for (uint32_t i = 0; i < gg__child_count(value); i++)
            if (!may_return(b, arm, gg__child(value, i))) return false;
        return gg__child_count(value) > 0;
    }
    if (gg__is_no_tensor(&b->s, &arm->inner, value))
        return gg__hinder(in, value, "is no tensor, and a branch of a graph gives tensors");
    if (!gg__is_returned_held(b, arm, value)) return true;
    gg_str name = ts_node_is_null(b->target) ? GG_STR_NULL : gg__text(in->tree, b->target);
    if (name.len ? gg__alias_shows(in, b->node, value, name) : gg__returned_alias_shows(in, b->node, value))
        return gg__hinder(in, value, "other code may hold this tensor, and a branch of a graph gives a new one");
    b->s.copies = b->s.copies || gg__is_copy(in, b->node, value, name);
    return true;
}

/* Values of both arms, or displays of such. */
static bool are_alike(gg__graph_branches *b, gg_str name, gg__graph_arm *one, TSNode first, gg__graph_arm *two,
                      TSNode second) {
    first = gg__strip_parentheses(first);
    second = gg__strip_parentheses(second);
    bool several = gg_node_is(first, "tuple") || gg_node_is(first, "expression_list");
    if (several && ts_node_symbol(first) == ts_node_symbol(second)) {
        if (gg__child_count(first) != gg__child_count(second)) return false;
        for (uint32_t i = 0; i < gg__child_count(first); i++)
            if (!are_alike(b, name, one, gg__child(first, i), two, gg__child(second, i))) return false;
        return true;
    }
    gg__meta yes = gg__outlined_meta(&b->s, &one->inner, first), no = gg__outlined_meta(&b->s, &two->inner, second);
    return gg__may_be_alike(&b->s, b->node, name, yes, first, no, second);
}

/* What the arm leaves in the name; the name, where it leaves what was there; null when that is not plain to see. */
static TSNode left_value(const gg__graph_branches *b, const gg__graph_arm *arm, gg_str name) {
    if (gg__names_have(&arm->bound, name)) return gg__left_in(b->s.in->tree, arm->body, name);
    return gg__named_in_arms(&b->s, b->node, name);
}

static bool leave_alike(gg__graph_branches *b) {
    gg__graph_arm *first = &b->arms[0];
    for (size_t arm = 1; arm < b->count; arm++) {
        gg__graph_arm *other = &b->arms[arm];
        if (b->valued && !are_alike(b, GG_STR("the value"), first, first->value, other, other->value)) return false;
        for (size_t i = 0; i < b->kept.count; i++) {
            gg_str name = b->kept.items[i];
            TSNode yes = left_value(b, first, name), no = left_value(b, other, name);
            if (!ts_node_is_null(yes) && !ts_node_is_null(no) && !are_alike(b, name, first, yes, other, no))
                return false;
        }
    }
    return true;
}

/* What the arm leaves in the name is a tensor, and a copy where others hold it. */
static bool may_leave(gg__graph_branches *b, gg__graph_arm *arm, gg_str name) {
    const gg_rule_input *in = b->s.in;
    bool binds = gg__names_have(&arm->bound, name);
    TSNode value = left_value(b, arm, name);
    if (ts_node_is_null(value)) return true;
    if (binds && gg__is_no_tensor(&b->s, &arm->inner, value))
        return gg__hinder(in, value, "is no tensor, and a branch of a graph gives tensors");
    if (binds && !gg__is_held(&b->s, &arm->inner, value)) return true;
    if (!binds && gg__owns(in, b->node, name)) return true;
    if (gg__alias_shows(in, b->node, value, name))
        return gg__hinder(in, value, "other code may hold this tensor, and a branch of a graph gives a new one");
    b->s.copies = b->s.copies || gg__is_copy(in, b->node, value, name);
    return true;
}

/* ---- what they get ------------------------------------------------------------------------------------------------------------- */

/* What an arm reads before it binds it, or leaves as it was, all are given. */
static bool give(gg__graph_branches *b, const gg__graph_arm *arm, gg_str name) {
    const gg_rule_input *in = b->s.in;
    bool binds = gg__names_have(&arm->bound, name), kept = gg__names_have(&b->kept, name);
    if (binds ? !gg__takes(in->tree, arm->body, name) : !kept) return true;
    if (!gg__bound_before(in->tree, b->node, name))
        return kept ? gg__hinder(in, b->node, "may leave `%.*s` without a value", GG_STR_ARG(name)) : true;
    if (!gg__holds_tensor(in, name))
        return gg__hinder(in, b->node, "`%.*s` is no tensor, and the branch changes it", GG_STR_ARG(name));
    if (!gg__is_unread_inside(in, b->node, name)) return false;
    gg__names_add(&b->given, name);
    return true;
}

static bool is_no_change(TSNode node, void *data) {
    const gg__graph_branches *b = data;
    return !gg_node_is(node, "augmented_assignment") ||
           !gg__names_have(&b->given, gg__text(b->s.in->tree, gg__field(node, "left"))) ||
           gg__hinder(b->s.in, node, "changes a tensor in place, which a branch of a graph cannot");
}

/* The next iteration reads what this one left. */
static bool is_carried(const gg__graph_branches *b, const gg__graph_arm *arm, gg_str name) {
    bool looped = gg__runs_from(b->node) < ts_node_start_byte(b->node);
    return looped && gg__names_have(&arm->bound, name) && gg__takes(b->s.in->tree, arm->body, name) &&
           gg__bound_before(b->s.in->tree, b->node, name);
}

static bool learn_names(gg__graph_branches *b) {
    bool full = false;
    for (size_t arm = 0; arm < b->count; arm++) {
        gg__graph_arm *a = &b->arms[arm];
        gg__names_bound(b->s.in->tree, a->body, &a->bound);
        full = full || a->bound.full;
        for (size_t i = 0; i < a->bound.count && !b->valued; i++)
            if (gg__is_live(&b->s, a->bound.items[i]) || is_carried(b, a, a->bound.items[i]))
                gg__names_add(&b->kept, a->bound.items[i]);
    }
    for (size_t arm = 0; arm < b->count; arm++)
        for (size_t other = 0; other < b->count; other++)
            for (size_t i = 0; i < b->arms[other].bound.count; i++)
                if (!give(b, &b->arms[arm], b->arms[other].bound.items[i])) return false;
    return !full && !b->kept.full && !b->given.full && (b->valued || b->kept.count);
}

/* ---- what is asked ------------------------------------------------------------------------------------------------------------- */

static bool learn_condition(gg__graph_branches *b) {
    TSNode condition = b->arms[0].condition;
    gg__test *test = &b->arms[0].test;
    if (gg__test_drawn(&b->s, condition, test) || gg__split_condition(&b->s, condition, &b->flags, test))
        return b->s.lines.len == 0;
    b->either = gg__split_either(&b->s, condition, &b->flags, test);
    if (b->either) return b->s.lines.len == 0;
    b->flags = GG_STR_NULL;
    return gg__outlined_test(&b->s, NULL, condition, test);
}

/* `w.max()` fails of no elements, `w[3]` of a few: an elif asks them where the first condition did not hold. */
static bool holds_of_no_rows(TSNode node, void *data) {
    return !gg__may_fail_of_few(data, node);
}

/* Those of elif are asked along with the first, which must not show. */
static bool learn_conditions(gg__graph_branches *b) {
    if (!learn_condition(b)) return false;
    if (b->flags.len && b->count > 2)
        return gg__hinder(b->s.in, b->arms[0].condition, "a part of it is not a tensor's, and an elif follows");
    for (size_t i = 1; i + 1 < b->count; i++) {
        if (!gg__visit(b->arms[i].condition, holds_of_no_rows, (void *)b->s.in))
            return gg__hinder(b->s.in, b->arms[i].condition,
                              "may fail of a tensor of few elements, where it is not asked");
        if (!gg__test_of(&b->s, NULL, b->arms[i].condition, &b->arms[i].test))
            return gg__untestable(&b->s, b->arms[i].condition);
        if (b->s.lines.len) return false;
    }
    return true;
}

bool gg__find_graph_branches(const gg_rule_input *in, gg__graph_branches *b, gg_arena *arena) {
    TSNode branch = find_branch(in);
    *b = (gg__graph_branches){.node = gg__statement(branch)};
    gg__select_init(&b->s, in, gg__statement(gg_node_at(in->tree, in->span)), arena);
    if (ts_node_is_null(b->node) || !gg__can_name(in->tree, b->node, "torch") || !gg__may_define(in->tree, b->node))
        return false;
    b->s.statement = b->node;
    if (!gg__alone_on_line(in->tree, b->node) ||
        !(gg_node_is(branch, "if_statement") ? find_arms(b) : find_operands(b, branch)))
        return false;
    for (size_t i = 0; i < b->count; i++)
        if (!gg__may_outline(in, b->arms[i].body, b->arms[i].end)) return false;
    if (!learn_names(b)) return false;
    for (size_t i = 0; i < b->count; i++)
        if (!gg__learn_block(&b->s, &b->arms[i].inner, b->arms[i].body)) return false;
    for (size_t i = 0; i < b->count; i++) {
        gg__graph_arm *arm = &b->arms[i];
        for (uint32_t j = arm->body.from; j < arm->body.to; j++)
            if (!gg__visit(gg__child(arm->body.block, j), is_no_change, b)) return false;
        if (b->valued && !may_return(b, arm, arm->value)) return false;
        for (size_t j = 0; j < b->kept.count; j++)
            if (!may_leave(b, arm, b->kept.items[j])) return false;
    }
    return leave_alike(b) && learn_conditions(b);
}
