/* GG118 checked-number: `v = t.item()`, and all that reads v is a check behind it that only raises.
 * Offers: torch._assert_async of the same condition while compiling, and the author's lines otherwise.
 * Refuses: where anything else reads the number, where code around it may catch the exception, and conditions that no tensor is proven to do for.
 * Safety: effects (under compile a failed check raises RuntimeError, on CUDA later).  Page: docs/rules/GG118.md
 *
 * DESIGN  The condition is read where the name stands for what it was given, in a text of its own. */
#include "repair/scalar.h"
#include "repair/truth.h"

typedef struct checked {
    TSNode call, assignment, check, raise; /* statements, but for the call */
    gg_str name;
} checked;

typedef struct reading {
    const gg_tree *tree;
    const checked *c;
    gg_edits *puts; /* the number's call in place of its name, in the condition; may be NULL */
} reading;

/* The name is read in the check only, and nothing else binds it. */
static bool is_read_in_check(TSNode node, void *data) {
    const reading *r = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (gg__watches_names(r->tree, node)) return false;
    if (!gg_str_equal(gg__text(r->tree, node), r->c->name)) return true;
    if (gg__covers(r->c->assignment, gg_node_span(node))) return gg__is_binding(node);
    return gg__covers(r->c->check, gg_node_span(node)) && !gg__is_binding(node);
}

static bool is_one_line(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "string") || ts_node_start_point(node).row == ts_node_end_point(node).row;
}

static bool put(TSNode node, void *data) {
    const reading *r = data;
    if (gg_node_is(node, "identifier") && !gg__is_member_name(node) &&
        gg_str_equal(gg__text(r->tree, node), r->c->name))
        gg_edits_add(r->puts, gg_node_span(node), gg__text(r->tree, r->c->call));
    return true;
}

static bool find(const gg_rule_input *in, checked *c) {
    if (!gg_str_is(in->site->id, "GB0124")) return false;
    TSNode at = gg_node_at(in->tree, in->span);
    c->assignment = gg__statement(at);
    TSNode assignment = gg__child(c->assignment, 0), left = gg__field(assignment, "left");
    c->call = gg__field(assignment, "right");
    c->check = ts_node_next_named_sibling(c->assignment);
    c->name = gg__text(in->tree, left);
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(left, "identifier") || !gg_node_is(c->call, "call") ||
        !ts_node_is_null(gg__field(assignment, "type")) || !gg__covers(c->call, in->span) ||
        !gg_node_is(c->check, "if_statement") || !ts_node_is_null(gg__field(c->check, "alternative")))
        return false;
    c->raise = gg__only_raise(in, gg__field(c->check, "consequence"));
    TSNode function = gg__function(c->check);
    reading r = {in->tree, c, NULL};
    return !ts_node_is_null(c->raise) && gg_node_is(function, "function_definition") &&
           gg__alone_on_line(in->tree, c->assignment) && gg__alone_on_line(in->tree, c->check) &&
           gg__visit(function, is_read_in_check, &r) && gg__visit(c->check, is_one_line, NULL) &&
           gg__visit(c->assignment, is_one_line, NULL) && gg__can_name(in->tree, c->check, "torch");
}

/* What must hold, as a tensor: the condition with the call in place of the name. */
static gg_str holds(const gg_rule_input *in, const checked *c, gg_str torch, gg_arena *arena) {
    gg_edits puts = {0};
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_error err = {0};
    gg_str out = GG_STR_NULL;
    TSNode condition = gg__field(c->check, "condition");
    reading r = {in->tree, c, &puts};
    gg__visit(condition, put, &r);
    int64_t longer = (int64_t)puts.list.len * ((int64_t)gg__text(in->tree, c->call).len - (int64_t)c->name.len);
    if (gg_edits_sort(&puts, &err) == 0 && gg_edits_apply(&text, gg_tree_text(in->tree), &puts, &err) == 0 &&
        gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, &err) == 0) {
        gg_span span = gg_node_span(condition);
        gg_rule_input there = *in;
        there.tree = tree;
        there.span = (gg_span){span.start, (uint32_t)(span.end + longer)};
        there.hindrance = NULL; /* it would be told of another text */
        out = gg_arena_str(arena, gg__truth_as_before(&there, gg_node_at(tree, there.span), true, torch, arena));
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    gg_edits_clear(&puts);
    return out;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    checked c;
    if (!find(in, &c) || gg__is_told_apart(in->tree, c.check)) return false;
    out->node = c.assignment;
    gg_arena *arena = gg_arena_new();
    bool known = holds(in, &c, GG_STR("torch"), arena).len > 0;
    gg_arena_free(arena);
    return known && !gg__may_be_caught(in->tree, c.check); /* asked last: it may read the whole file */
}

/* One more level for each line behind the first. */
static void indent(const gg_tree *tree, gg_span span, gg_edits *out) {
    gg_str all = gg_text_bytes(gg_tree_text(tree)), unit = gg__indent_unit(tree);
    for (uint32_t at = span.start; at + 1 < span.end; at++) {
        char next = all.ptr[at + 1];
        if (all.ptr[at] == '\n' && next != '\n' && next != '\r') gg_edits_add(out, (gg_span){at + 1, at + 1}, unit);
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *found, gg_arena *arena, gg_edits *out, gg_error *err) {
    checked c;
    (void)found;
    if (!find(in, &c)) return gg_fail(err, GG_ENOMATCH, "this is no check of a number");
    gg_str torch = gg__require_module(in->tree, c.check, "torch", arena, out);
    gg_span span = {ts_node_start_byte(c.assignment), ts_node_end_byte(c.check)};
    TSNode none = {0};
    gg_str line = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(gg__newline(in->tree)),
                                  GG_STR_ARG(gg__indent(in->tree, span.start)));
    gg_str deeper = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(line), GG_STR_ARG(gg__indent_unit(in->tree)));
    gg_str head = gg_arena_printf(
        arena, "if %.*s.compiler.is_compiling():%.*s%.*s._assert_async(%.*s, %.*s)%.*selse:%.*s", GG_STR_ARG(torch),
        GG_STR_ARG(deeper), GG_STR_ARG(torch), GG_STR_ARG(holds(in, &c, torch, arena)),
        GG_STR_ARG(gg__constant_message(in->tree, none, c.raise, arena)), GG_STR_ARG(line), GG_STR_ARG(deeper));
    gg_edits_add(out, (gg_span){span.start, span.start}, head);
    indent(in->tree, span, out);
    return 0;
}

const gg_rule gg_rule_checked_number = {
    .code = "GG118",
    .name = "checked-number",
    .title = "Check with an assert that can be traced",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
