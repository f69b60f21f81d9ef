/* GG004 tensor-assert: Dynamo traces `assert t` and `assert t, "text"`, but no compound condition and no computed message.
 * Offers: an `and` of conditions as one assert each; otherwise, and for an `if` that only raises, torch._assert_async while compiling and the
 * author's own check otherwise.  Refuses: unless the condition is proven a 0-d bool tensor (where that is needed), and
 * where code around it may catch the exception.
 * Safety: effects (under compile a failed check raises RuntimeError, on CUDA later).  Page: docs/rules/GG004.md */
#include "repair/syntax.h"

static bool covers(TSNode node, gg_span span) {
    return !ts_node_is_null(node) && ts_node_start_byte(node) <= span.start && span.end <= ts_node_end_byte(node);
}

/* A string without interpolation or concatenation of such; missing counts as plain. */
static bool plain_message(const gg_tree *tree, TSNode message) {
    if (ts_node_is_null(message)) return true;
    if (!gg_node_is(message, "string")) return false;
    for (uint32_t i = 0; i < gg__child_count(message); i++)
        if (gg_node_is(gg__child(message, i), "interpolation")) return false;
    return gg__text(tree, message).ptr[0] == '"' || gg__text(tree, message).ptr[0] == '\'';
}

static TSNode message_of(TSNode statement) {
    return gg__child_count(statement) > 1 ? gg__child(statement, 1) : (TSNode){0};
}

static bool is_and(const gg_tree *tree, TSNode node) {
    return gg_node_is(node, "boolean_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "and");
}

/* The raise an `if` consists of; null node when it does anything else. */
static TSNode only_raise(TSNode statement) {
    if (!gg_node_is(statement, "if_statement") || !ts_node_is_null(gg__field(statement, "alternative")))
        return (TSNode){0};
    TSNode raise = gg__only_statement(gg__field(statement, "consequence"));
    return gg_node_is(raise, "raise_statement") && gg__child_count(raise) == 1 ? raise : (TSNode){0};
}

static bool is_not_of_condition(const gg_rule_input *in, TSNode node) {
    return gg_node_is(node, "not_operator") && gg__is_condition(gg__infer(in, gg__field(node, "argument")));
}

static bool provable(const gg_rule_input *in, TSNode condition) {
    condition = gg__strip_parentheses(condition);
    return gg__is_condition(gg__infer(in, condition)) || is_not_of_condition(in, condition);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span));
    out->node = statement;
    if (ts_node_is_null(statement) || !gg__alone_on_line(in->tree, statement) || gg__is_watched(in->tree, statement))
        return false;
    if (gg_node_is(statement, "assert_statement")) {
        TSNode condition = gg__strip_parentheses(gg__child(statement, 0));
        TSNode message = message_of(statement);
        if (!covers(statement, in->span)) return false;
        if (is_and(in->tree, condition)) return plain_message(in->tree, message);
        if (!gg__can_name(in->tree, statement, "torch")) return false;
        return (is_not_of_condition(in, condition) || !plain_message(in->tree, message)) && provable(in, condition);
    }
    TSNode condition = gg__field(statement, "condition");
    return gg__can_name(in->tree, statement, "torch") && !ts_node_is_null(only_raise(statement)) &&
           covers(condition, in->span) && provable(in, condition);
}

/* `assert a and b and c, m` → one assert per operand: evaluated in the same order, each only when those before hold. */
static void split(const gg_rule_input *in, TSNode statement, gg_arena *arena, gg_edits *out) {
    TSNode operands[32], node = gg__strip_parentheses(gg__child(statement, 0));
    size_t count = 0;
    while (is_and(in->tree, node) && count < GG_COUNT(operands) - 2) { /* left-associative: operands come last first */
        operands[count++] = gg__field(node, "right");
        node = gg__strip_parentheses(gg__field(node, "left"));
    }
    operands[count++] = node;
    TSNode message = message_of(statement);
    gg_str tail = ts_node_is_null(message) ? GG_STR_NULL
                                           : gg_arena_printf(arena, ", %.*s", GG_STR_ARG(gg__text(in->tree, message)));
    gg_str indent = gg__indent(in->tree, ts_node_start_byte(statement)), newline = gg__newline(in->tree);
    gg_buf text;
    gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
    operands[count] = message;
    gg_buf_append(&text, gg__comments(in->tree, gg_node_span(statement), operands, count + 1, arena));
    for (size_t i = count; i-- > 0;) {
        TSNode inner = gg__strip_parentheses(operands[i]);
        gg_str operand = gg__text(in->tree, inner);
        bool wrap = gg_str_contains(operand, GG_STR("\n")) || gg_node_is(inner, "named_expression") ||
                    gg_node_is(inner, "yield");
        gg_buf_printf(&text, "assert %s%.*s%s%.*s", wrap ? "(" : "", GG_STR_ARG(operand), wrap ? ")" : "",
                      GG_STR_ARG(tail));
        if (i > 0) gg_buf_printf(&text, "%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(indent));
    }
    gg_edits_add(out, gg_node_span(statement), gg_arena_str(arena, gg_buf_str(&text)));
    gg_buf_clear(&text);
}

/* Source of a string's inside, for a string in double quotes on one line.  Escapes stay as the author wrote them; in a raw string a backslash
 * is itself. */
static void append_content(gg_buf *out, gg_str content, bool raw) {
    bool escaped = false;
    for (size_t i = 0; i < content.len; i++) {
        char c = content.ptr[i];
        if ((raw && c == '\\') || (c == '"' && !escaped)) gg_buf_append_char(out, '\\');
        bool continues = !raw && c == '\\' && !escaped && i + 1 < content.len &&
                         (content.ptr[i + 1] == '\n' || content.ptr[i + 1] == '\r'); /* the line goes on */
        escaped = !raw && c == '\\' && !escaped && !continues;
        gg_buf_append_char(out, c == '\n' || c == '\r' || continues ? ' ' : c);
    }
}

/* A constant for the asynchronous assert: the literal parts of the author's message. */
static gg_str constant_message(const gg_tree *tree, TSNode message, gg_arena *arena) {
    gg_buf text;
    gg_buf_init(&text, 4096);
    gg_buf_append_char(&text, '"');
    if (gg_node_is(message, "string")) {
        gg_str prefix = gg__text(tree, ts_node_child(message, 0)); /* f", r', … */
        bool raw = gg_str_contains(prefix, GG_STR("r")) || gg_str_contains(prefix, GG_STR("R"));
        for (uint32_t i = 0; i < gg__child_count(message); i++) {
            TSNode part = gg__child(message, i);
            if (gg_node_is(part, "interpolation")) gg_buf_append_z(&text, "...");
            if (!gg_node_is(part, "string_content")) continue;
            append_content(&text, gg__text(tree, part), raw);
        }
    }
    if (text.len == 1) gg_buf_append_z(&text, "the check failed");
    gg_buf_append_char(&text, '"');
    gg_str out = text.overflow ? GG_STR("\"the check failed\"") : gg_arena_str(arena, gg_buf_str(&text));
    gg_buf_clear(&text);
    return out;
}

static TSNode first_argument_of_raise(TSNode raise) {
    TSNode call = gg__child(raise, 0);
    TSNode arguments = gg_node_is(call, "call") ? gg__field(call, "arguments") : (TSNode){0};
    return !ts_node_is_null(arguments) && gg__child_count(arguments) ? gg__child(arguments, 0) : (TSNode){0};
}

/* What must hold, as tensor text: the assert's condition, or the negation of the `if`'s. */
static gg_str must_hold(const gg_rule_input *in, TSNode condition, bool raises_when_true, gg_str torch,
                        gg_arena *arena) {
    condition = gg__strip_parentheses(condition);
    bool negate = raises_when_true;
    while (gg_node_is(condition, "not_operator")) {
        condition = gg__strip_parentheses(gg__field(condition, "argument"));
        negate = !negate;
    }
    gg_str text = gg__text(in->tree, condition);
    if (!negate) return text;
    return gg_arena_printf(arena, "%.*s.logical_not(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(text));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    TSNode statement = match->node, raise = only_raise(statement);
    TSNode condition = ts_node_is_null(raise) ? gg__child(statement, 0) : gg__field(statement, "condition");
    if (ts_node_is_null(raise) && is_and(in->tree, gg__strip_parentheses(condition))) {
        split(in, statement, arena, out);
        return 0;
    }
    gg_str torch = gg__require_module(in->tree, statement, "torch", arena, out);
    gg_str holds = must_hold(in, condition, !ts_node_is_null(raise), torch, arena);
    TSNode said = ts_node_is_null(raise) ? message_of(statement) : first_argument_of_raise(raise);
    gg_str message = constant_message(in->tree, said, arena);
    gg_str indent = gg__indent(in->tree, ts_node_start_byte(statement)), unit = gg__indent_unit(in->tree),
           newline = gg__newline(in->tree);
    gg_str head =
        gg_arena_printf(arena, "if %.*s.compiler.is_compiling():%.*s%.*s%.*s%.*s._assert_async(%.*s, %.*s)%.*s%.*s",
                        GG_STR_ARG(torch), GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(unit), GG_STR_ARG(torch),
                        GG_STR_ARG(holds), GG_STR_ARG(message), GG_STR_ARG(newline), GG_STR_ARG(indent));
    uint32_t start = ts_node_start_byte(statement);
    if (!ts_node_is_null(raise)) /* the author's `if` becomes the `elif` */
        head = gg_arena_printf(arena, "%.*sel", GG_STR_ARG(head));
    else
        head = gg_arena_printf(arena, "%.*selse:%.*s%.*s%.*s", GG_STR_ARG(head), GG_STR_ARG(newline),
                               GG_STR_ARG(indent), GG_STR_ARG(unit));
    gg_edits_add(out, (gg_span){start, start}, head);
    return 0;
}

const gg_rule gg_rule_tensor_assert = {
    .code = "GG004",
    .name = "tensor-assert",
    .title = "Check with an assert that can be traced",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
