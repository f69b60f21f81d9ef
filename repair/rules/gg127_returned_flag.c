/* GG127 returned-flag: a function of the file whose callers only ask for the truth of what it gives: `return bool(t)`, `if t: return True`, `return False`.
 * Offers: to return the tensor, so that the graph goes on until a caller asks, where the other rules select.
 * Refuses: any other use of the function in the file, a function that is named again or in a string, operators, `forward`, other decorators than
 * those of methods, and a public one that says it returns a bool.  Safety: exact.  Page: docs/rules/GG127.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"
#include "repair/select.h"

typedef struct returned_flag {
    const gg_rule_input *in;
    TSNode function;
    gg_str name;
    gg_span span; /* what is replaced */
    gg_str text;
    bool called, property;
} returned_flag;

/* ---- who uses it ------------------------------------------------------------------------------------------------------------- */

/* A condition, or a part of one: Python asks for its truth, and for nothing else. */
static bool is_asked_for_truth(const gg_tree *tree, TSNode node) {
    static const char *const branches[] = {"if_statement", "elif_clause", "while_statement", "not_operator"};
    TSNode parent = gg__parent(node);
    while (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "boolean_operator")) {
        node = parent;
        parent = gg__parent(node);
    }
    for (size_t i = 0; i < GG_COUNT(branches); i++)
        if (gg_node_is(parent, branches[i])) return i == 3 || ts_node_eq(gg__field(parent, "condition"), node);
    if (gg_node_is(parent, "conditional_expression")) return ts_node_eq(gg__child(parent, 1), node);
    if (gg_node_is(parent, "assert_statement")) return ts_node_eq(gg__child(parent, 0), node);
    return gg_node_is(parent, "argument_list") && gg__child_count(parent) == 1 &&
           gg__names_builtin(tree, gg__field(gg__parent(parent), "function"), "bool");
}

typedef struct held_flag {
    const gg_tree *tree;
    gg_str name;
} held_flag;

static bool is_read_for_truth(TSNode node, void *data) {
    const held_flag *h = data;
    if (!gg_node_is(node, "identifier")) return true;
    if (gg__watches_names(h->tree, node)) return false;
    if (!gg_str_equal(gg__text(h->tree, node), h->name) || gg__is_member_name(node)) return true;
    TSNode parent = gg__parent(node);
    bool outer = gg_node_is(parent, "global_statement") || gg_node_is(parent, "nonlocal_statement");
    if (gg__is_binding(node)) return !outer && !gg_node_is(parent, "augmented_assignment");
    return is_asked_for_truth(h->tree, node);
}

/* `flag = is_flat(h)`, of a name that its function only asks for its truth. */
static bool is_held_for_truth(const gg_tree *tree, TSNode read) {
    TSNode assignment = gg__assignment(gg__statement(read)), function = gg__function(read);
    if (!ts_node_eq(gg__field(assignment, "right"), read) || !gg_node_is(function, "function_definition")) return false;
    held_flag h = {tree, gg__text(tree, gg__field(assignment, "left"))};
    return gg__visit(function, is_read_for_truth, &h);
}

/* Each mention of the name is the definition, or such a use. */
static bool is_only_asked(TSNode node, void *data) {
    returned_flag *r = data;
    const gg_tree *tree = r->in->tree;
    if (gg_node_is(node, "string_content")) return !gg_str_equal(gg__text(tree, node), r->name);
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), r->name)) return true;
    TSNode parent = gg__parent(node), read = node;
    if (ts_node_eq(parent, r->function)) return true;
    if (gg_node_is(parent, "attribute")) {
        if (!ts_node_eq(gg__field(parent, "attribute"), node)) return false;
        read = parent;
    } else if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) {
        return true;
    }
    if (!r->property) {
        TSNode call = gg__parent(read);
        if (!gg_node_is(call, "call") || !ts_node_eq(gg__field(call, "function"), read)) return false;
        read = call;
    }
    r->called = true;
    return is_asked_for_truth(tree, read) || is_held_for_truth(tree, read) ||
           gg__hinder(r->in, read, "needs the truth value itself, not only as a condition");
}

static bool is_private(const returned_flag *r) {
    return gg_str_starts_with(r->name, GG_STR("_")) ||
           gg_node_is(gg__function(gg__parent(r->function)), "function_definition");
}

static bool may_give_tensor(returned_flag *r) {
    const gg_tree *tree = r->in->tree;
    static const char *const decorators[] = {"@property", "@staticmethod", "@classmethod"};
    if (!gg_node_is(r->function, "function_definition")) return false;
    r->name = gg__text(tree, gg__field(r->function, "name"));
    bool called = gg_str_starts_with(r->name, GG_STR("__")) || gg_str_is(r->name, "forward");
    gg_str decorator = gg__decorator_of(tree, r->function);
    r->property = gg_str_is(decorator, "@property");
    if (called || !ts_node_eq(gg__only_definition(tree, r->name), r->function) ||
        (decorator.len && !gg__is_one_of(decorator, decorators, GG_COUNT(decorators))))
        return false;
    TSNode type = gg__field(r->function, "return_type");
    if (!ts_node_is_null(type) && !is_private(r)) return gg__hinder(r->in, type, "is what other files are told");
    return gg__visit(gg_tree_root(tree), is_only_asked, r) && r->called;
}

/* ---- what it returns --------------------------------------------------------------------------------------------------------- */

/* `return bool(t)`, `return t.item()` */
static bool read_call(returned_flag *r, gg_arena *arena) {
    const gg_tree *tree = r->in->tree;
    gg__extraction e;
    TSNode call = gg_node_at(tree, r->in->span);
    while (!ts_node_is_null(call) && !gg_node_is(call, "call")) call = gg__parent(call);
    if (ts_node_is_null(call) || !gg__match_extraction(r->in, call, &e) || e.scalar.sort != GG__SCALAR_BOOL ||
        !e.meta.fresh)
        return false;
    TSNode statement = gg__parent(call), value = gg__strip_parentheses(e.value);
    while (gg_node_is(statement, "parenthesized_expression")) statement = gg__parent(statement);
    if (!gg_node_is(statement, "return_statement")) return false;
    r->function = gg__function(statement);
    r->span = gg_node_span(gg__child(statement, 0));
    r->text = gg__text(tree, value);
    if (!gg_str_is(e.meta.dtype, "torch.bool") || !gg__has_certain_dtype(r->in, value))
        r->text = gg_arena_printf(arena, "%.*s != 0", GG_STR_ARG(gg__operand_text(r->in, value, arena)));
    return !gg__has_comment(tree, r->span);
}

/* `return True`, as the only statement there. */
static bool returns(TSNode statement, const char *truth) {
    return gg_node_is(statement, "return_statement") && gg__child_count(statement) == 1 &&
           gg_node_is(gg__child(statement, 0), truth);
}

/* `if t: return True` and behind it, or in its else, `return False`; or the other way round. */
static bool read_branch(returned_flag *r, gg_arena *arena) {
    const gg_rule_input *in = r->in;
    TSNode node = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(node) && !gg_node_is(node, "if_statement")) node = gg__parent(node);
    TSNode condition = gg__field(node, "condition"), other = gg__field(node, "alternative"), last = node;
    if (ts_node_is_null(node) || !gg__covers(condition, in->span)) return false;
    TSNode yes = gg__only_statement(gg__field(node, "consequence")), no;
    if (ts_node_is_null(other)) {
        no = last = gg__next_statement(node);
    } else {
        no = gg__only_statement(gg__field(other, "body"));
    }
    bool same = returns(yes, "true") && returns(no, "false");
    if ((!same && !(returns(yes, "false") && returns(no, "true"))) || gg_node_is(other, "elif_clause")) return false;
    r->function = gg__function(node);
    r->span = (gg_span){ts_node_start_byte(node), ts_node_end_byte(last)};
    if (gg__has_comment(in->tree, r->span)) return false;
    gg__select s;
    gg__test test;
    gg__select_init(&s, in, node, arena);
    bool known = gg__test_of(&s, NULL, condition, &test) && s.lines.len == 0;
    if (known) {
        test.negated = test.negated == same;
        r->text = gg_arena_printf(arena, "return %.*s", GG_STR_ARG(gg__truth_text(&s, test)));
    }
    gg__select_clear(&s);
    return known || gg__untestable(&s, condition);
}

static bool match(const gg_rule_input *in, returned_flag *r, gg_arena *arena) {
    *r = (returned_flag){.in = in};
    bool branch = gg_str_is(in->site->id, "GB0170");
    if (!branch && !gg_str_is(in->site->id, "GB0124")) return false;
    return (branch ? read_branch(r, arena) : read_call(r, arena)) && may_give_tensor(r);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_arena *arena = gg_arena_new();
    returned_flag r;
    bool found = match(in, &r, arena);
    out->node = r.function;
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match_, gg_arena *arena, gg_edits *out, gg_error *err) {
    returned_flag r;
    (void)match_;
    if (!match(in, &r, arena)) return gg_fail(err, GG_ENOMATCH, "callers may need the truth value itself");
    TSNode type = gg__field(r.function, "return_type");
    if (!ts_node_is_null(type)) gg_edits_add(out, gg_node_span(type), GG_STR("torch.Tensor"));
    gg_edits_add(out, r.span, r.text);
    return 0;
}

const gg_rule gg_rule_returned_flag = {
    .code = "GG127",
    .name = "returned-flag",
    .title = "Return the tensor, which callers only ask for its truth",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
