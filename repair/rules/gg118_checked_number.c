/* GG118 checked-number: `v = t.item()`, or several, and all that reads them is a check behind that only raises.
 * Offers: torch._assert_async of the same condition while compiling, and the author's lines otherwise.
 * Refuses: where anything else reads the number, where code around it may catch the exception, and conditions that no tensor is proven to do for.
 * Safety: effects (under compile a failed check raises RuntimeError, on CUDA later).  Page: docs/rules/GG118.md
 *
 * DESIGN  The condition is read where the name stands for what it was given, in a text of its own. */
#include "repair/masks.h"
#include "repair/scalar.h"
#include "repair/select.h"
#include "repair/truth.h"

enum { MAX_NUMBERS = 4 };

typedef struct checked {
    TSNode first, check, raise; /* statements: what binds the numbers, one or more; the if; what it does */
    gg_str names[MAX_NUMBERS];
    TSNode calls[MAX_NUMBERS];
    size_t count;
} checked;

typedef struct reading {
    const gg_tree *tree;
    const checked *c;
    gg_edits *puts; /* the numbers' calls in place of their names, in the condition; may be NULL */
} reading;

/* Which of the numbers the identifier names; `count` where it is none. */
static size_t number_of(const gg_tree *tree, const checked *c, TSNode node) {
    size_t at = 0;
    while (at < c->count && !gg_str_equal(gg__text(tree, node), c->names[at])) at++;
    return gg_node_is(node, "identifier") && !gg__is_member_name(node) ? at : c->count;
}

/* The names are read in the check only, and nothing else binds them. */
static bool is_read_in_check(TSNode node, void *data) {
    const reading *r = data;
    const checked *c = r->c;
    if (gg_node_is(node, "identifier") && !gg__is_member_name(node) && gg__watches_names(r->tree, node)) return false;
    if (number_of(r->tree, c, node) == c->count) return true;
    if (gg__covers(c->check, gg_node_span(node))) return !gg__is_binding(node);
    return gg__is_binding(node) && ts_node_start_byte(node) >= ts_node_start_byte(c->first) &&
           ts_node_end_byte(node) <= ts_node_start_byte(c->check);
}

static bool put(TSNode node, void *data) {
    const reading *r = data;
    size_t at = number_of(r->tree, r->c, node);
    if (at < r->c->count) gg_edits_add(r->puts, gg_node_span(node), gg__text(r->tree, r->c->calls[at]));
    return true;
}

static bool add_number(const gg_tree *tree, checked *c, TSNode name, TSNode call) {
    if (c->count == MAX_NUMBERS || !gg_node_is(call, "call") || number_of(tree, c, name) < c->count) return false;
    c->names[c->count] = gg__text(tree, name);
    c->calls[c->count++] = call;
    return true;
}

/* `v = t.item()`; `lo, hi = t.min().item(), t.max().item()` */
static bool add_numbers(const gg_rule_input *in, checked *c, TSNode statement) {
    TSNode assignment = gg__assignment(statement), several = gg__several_assigned(statement);
    if (!gg__alone_on_line(in->tree, statement) || !gg__visit(statement, gg__is_no_long_text, NULL)) return false;
    if (!ts_node_is_null(assignment))
        return ts_node_is_null(gg__field(assignment, "type")) &&
               add_number(in->tree, c, gg__field(assignment, "left"), gg__field(assignment, "right"));
    TSNode left = gg__field(several, "left"), right = gg__field(several, "right");
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (!add_number(in->tree, c, gg__child(left, i), gg__child(right, i))) return false;
    return !ts_node_is_null(several);
}

static bool find(const gg_rule_input *in, checked *c) {
    *c = (checked){.first = gg__statement(gg_node_at(in->tree, in->span))};
    if (!gg_str_is(in->site->id, "GB0124") || ts_node_is_null(c->first)) return false;
    for (c->check = c->first; gg_node_is(c->check, "expression_statement");
         c->check = ts_node_next_named_sibling(c->check))
        if (!add_numbers(in, c, c->check)) return false;
    if (!gg_node_is(c->check, "if_statement") || !ts_node_is_null(gg__field(c->check, "alternative"))) return false;
    c->raise = gg__only_raise(in, gg__field(c->check, "consequence"));
    TSNode function = gg__function(c->check);
    reading r = {in->tree, c, NULL};
    return c->count > 0 && !ts_node_is_null(c->raise) && gg_node_is(function, "function_definition") &&
           gg__alone_on_line(in->tree, c->check) && gg__visit(function, is_read_in_check, &r) &&
           gg__visit(c->check, gg__is_no_long_text, NULL) && gg__can_name(in->tree, c->check, "torch");
}

/* What must hold, as a tensor: the condition with the calls in place of the names. */
static gg_str holds(const gg_rule_input *in, const checked *c, gg_str torch, gg_arena *arena) {
    gg_edits puts = {0};
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    gg_str out = GG_STR_NULL;
    TSNode condition = gg__field(c->check, "condition");
    reading r = {in->tree, c, &puts};
    gg__visit(condition, put, &r);
    int64_t longer = 0;
    for (size_t i = 0; i < puts.list.len; i++)
        longer += (int64_t)puts.list.items[i].text.len -
                  (int64_t)(puts.list.items[i].span.end - puts.list.items[i].span.start);
    if (gg__edited(in->tree, &puts, &text, &tree)) {
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
    out->node = c.first;
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
    gg_span span = {ts_node_start_byte(c.first), ts_node_end_byte(c.check)};
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
