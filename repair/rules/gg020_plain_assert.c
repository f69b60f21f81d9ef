/* GG020 plain-assert: Dynamo traces `assert t` and `assert t, "text"`, but no `and`, `not`, chained comparison or value brought to Python.
 * Offers: one such assert for each operand of an `and`, each condition as a tensor.  Refuses: other messages, and conditions that are not
 * proven to be numbers; where code around it may catch the exception.  Safety: exact.  Page: docs/rules/GG020.md */
#include "repair/truth.h"

enum { MAX_OPERANDS = 32 };

/* The operands of `and`, in order. */
static size_t operands_of(const gg_tree *tree, TSNode condition, TSNode out[MAX_OPERANDS]) {
    TSNode reversed[MAX_OPERANDS], node = gg__strip_parentheses(condition);
    size_t count = 0;
    while (gg__is_and(tree, node) && count < MAX_OPERANDS - 1) { /* left-associative: operands come last first */
        reversed[count++] = gg__strip_parentheses(gg__field(node, "right"));
        node = gg__strip_parentheses(gg__field(node, "left"));
    }
    reversed[count++] = node;
    for (size_t i = 0; i < count; i++) out[i] = reversed[count - 1 - i];
    return count;
}

/* What to assert for one operand: its truth as a tensor, else itself. */
static gg_str plain(const gg_rule_input *in, TSNode operand, gg_str torch, gg_arena *arena) {
    gg__equality equal;
    gg_str text = gg__text(in->tree, operand);
    if (gg__is_equality(in, operand, arena, &equal))
        return gg_arena_printf(arena, "%.*s and %.*s", GG_STR_ARG(equal.shapes), GG_STR_ARG(equal.elements));
    gg_str truth = gg__truth(in, operand, false, torch, arena);
    return truth.len ? truth : text;
}

/* The texts to assert; 0 when nothing changes, or a comment inside an operand would be lost. */
static size_t make(const gg_rule_input *in, TSNode statement, gg_str torch, gg_arena *arena,
                   TSNode operands[MAX_OPERANDS], gg_str texts[MAX_OPERANDS]) {
    size_t count = operands_of(in->tree, gg__child(statement, 0), operands);
    bool changes = count > 1;
    for (size_t i = 0; i < count; i++) {
        texts[i] = plain(in, operands[i], torch, arena);
        bool same = gg_str_equal(texts[i], gg__text(in->tree, operands[i]));
        if (!same && gg__has_comment(in->tree, gg_node_span(operands[i]))) return 0;
        changes = changes || !same;
    }
    return changes ? count : 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), operands[MAX_OPERANDS];
    gg_str texts[MAX_OPERANDS];
    out->node = statement;
    if (!gg_node_is(statement, "assert_statement") || !gg__alone_on_line(in->tree, statement) ||
        !gg__is_plain_message(in->tree, gg__message_of(statement)) || !gg__can_name(in->tree, statement, "torch"))
        return false;
    gg_arena *arena = gg_arena_new();
    bool changes = make(in, statement, GG_STR("torch"), arena, operands, texts) > 0;
    gg_arena_free(arena);
    return changes && !gg__may_be_caught(in->tree, statement); /* asked last: it may read the whole file */
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    const gg_tree *tree = in->tree;
    TSNode statement = match->node, kept[MAX_OPERANDS + 1];
    gg_str texts[MAX_OPERANDS], torch = gg__module_alias(tree, statement, "torch");
    size_t count = make(in, statement, torch.len ? torch : GG_STR("torch"), arena, kept, texts);
    if (count == 0) return gg_fail(err, GG_ENOMATCH, "nothing would change");
    kept[count] = gg__message_of(statement);
    gg_str message = gg__text(tree, kept[count]), newline = gg__newline(tree);
    gg_str indent = gg__indent(tree, ts_node_start_byte(statement));
    bool changed = false;
    gg_buf text;
    gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
    gg_buf_append(&text, gg__comments(tree, gg_node_span(statement), kept, count + 1, arena));
    for (size_t i = 0; i < count; i++) {
        bool wrap = gg_str_contains(texts[i], GG_STR("\n")) || gg_node_is(kept[i], "named_expression") ||
                    gg_node_is(kept[i], "yield");
        changed = changed || !gg_str_equal(texts[i], gg__text(tree, kept[i]));
        if (i > 0) gg_buf_printf(&text, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(indent));
        gg_buf_printf(&text, "assert %s%.*s%s%s%.*s", wrap ? "(" : "", GG_STR_ARG(texts[i]), wrap ? ")" : "",
                      message.len ? ", " : "", GG_STR_ARG(message));
    }
    if (changed) gg__require_module(tree, statement, "torch", arena, out);
    gg_edits_add(out, gg_node_span(statement), gg_arena_str(arena, gg_buf_str(&text)));
    gg_buf_clear(&text);
    return 0;
}

const gg_rule gg_rule_plain_assert = {
    .code = "GG020",
    .name = "plain-assert",
    .title = "Assert in a form that can be traced",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
