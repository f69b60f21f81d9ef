/* Messages in arms that become values: said in front of the selections, where nothing is compiled and the arm is taken.  See select.h. */
#include "repair/select.h"

static bool is_for_eager(const gg_tree *tree, TSNode condition) {
    condition = gg__strip_parentheses(condition);
    TSNode call = gg__strip_parentheses(gg__field(condition, "argument"));
    return gg_node_is(condition, "not_operator") && gg_node_is(call, "call") &&
           gg__refers_to(tree, gg__field(call, "function"), "torch.compiler.is_compiling");
}

bool gg__is_said(const gg__select *s, TSNode statement) {
    if (gg_node_is(statement, "if_statement"))
        return ts_node_is_null(gg__field(statement, "alternative")) &&
               is_for_eager(s->in->tree, gg__field(statement, "condition")) &&
               gg__only_diagnostics(s->in, gg__field(statement, "consequence"));
    return s->says && gg__is_diagnostic(s->in, statement) && !gg__is_heard(s->in, statement) &&
           gg__alone_on_line(s->in->tree, statement);
}

typedef struct search {
    const gg__select *s;
    bool found;
} search;

static bool is_no_message(TSNode node, void *data) {
    search *in = data;
    bool statement = gg_node_is(node, "expression_statement") || gg_node_is(node, "if_statement");
    in->found = in->found || (statement && gg__is_said(in->s, node));
    return !in->found;
}

bool gg__has_messages(const gg__select *s, TSNode node) {
    search in = {s, false};
    gg__visit(node, is_no_message, &in);
    return in.found;
}

static gg_str with_message(gg__select *s, gg__arm *arm, TSNode message, gg_str all) {
    if (gg_node_is(message, "comment") || gg_node_is(message, "pass_statement")) return all;
    gg_str text = gg__text_in(s, arm, message), unit = gg__indent_unit(s->in->tree);
    return gg_arena_printf(s->arena, "%.*s%.*s%.*s%.*s%.*s", GG_STR_ARG(all), GG_STR_ARG(s->newline),
                           GG_STR_ARG(s->indent), GG_STR_ARG(unit), GG_STR_ARG(text));
}

void gg__say(gg__select *s, gg__arm *arm, TSNode statement) {
    TSNode block = gg__field(statement, "consequence");
    gg_str all = GG_STR_NULL; /* what it reads is computed by then */
    bool divides = s->divides_safely;
    s->divides_safely = false; /* nothing of it is said elsewhere */
    if (!gg_node_is(statement, "if_statement")) all = with_message(s, arm, statement, all);
    for (uint32_t i = 0; i < gg__child_count(block); i++) all = with_message(s, arm, gg__child(block, i), all);
    s->divides_safely = divides;
    gg_str head = gg_arena_printf(s->arena, "if not %.*s.compiler.is_compiling() and %.*s:", GG_STR_ARG(s->torch),
                                  GG_STR_ARG(gg__test_text(s, s->taken)));
    if (all.len == 0) return;
    gg_buf_append(&s->lines, head);
    gg_buf_append(&s->lines, all);
    gg_buf_append(&s->lines, s->newline);
    gg_buf_append(&s->lines, s->indent);
}
