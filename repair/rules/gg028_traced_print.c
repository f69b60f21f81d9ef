/* GG028 traced-print: a graph can print text and numbers by torch's own operator, which takes a format and tensors.
 * Offers: that operator while compiling, the author's print otherwise.  Refuses: what would read otherwise there (tensors with dimensions and
 * what shows gradients, sizes, braces), anything but plain arguments, and other devices than the CPU: a CUDA graph prints nothing when it is
 * replayed.  Safety: exact.  Page: docs/rules/GG028.md */
#include "repair/truth.h"

typedef struct printing {
    const gg_rule_input *in;
    gg_buf format, values;
} printing;

static bool is_real(gg_str dtype) {
    return gg__is_floating(dtype) || gg_str_is(dtype, "torch.bool") || gg_str_starts_with(dtype, GG_STR("torch.int"));
}

/* A tensor without dimensions: its text in a format is its number's. */
static bool is_number(const gg_rule_input *in, TSNode node) {
    gg__meta x = gg__infer(in, node);
    return x.sort == GG__TENSOR && x.rank == 0 && is_real(x.dtype);
}

static bool add_text(printing *p, TSNode node) {
    gg_str text = gg__text(p->in->tree, node);
    bool plain = !gg_str_contains(text, GG_STR("{")) && !gg_str_contains(text, GG_STR("}")) &&
                 !gg_str_contains(text, GG_STR("\"")) && !gg_str_contains(text, GG_STR("\\")) &&
                 !gg_str_contains(text, GG_STR("\n"));
    if (plain) gg_buf_append(&p->format, text);
    return plain;
}

static void add_value(printing *p, TSNode value) {
    gg_buf_append_z(&p->values, ", ");
    gg_buf_append(&p->values, gg__text(p->in->tree, value));
}

/* `{E}` and `{E:.3f}` */
static bool add_interpolation(printing *p, TSNode node) {
    TSNode value = gg__strip_parentheses(gg__child(node, 0)), format = gg__child(node, 1);
    if (gg__child_count(node) > 2 || !is_number(p->in, value)) return false;
    gg_str text = gg__text(p->in->tree, format);
    if (!ts_node_is_null(format)) {
        if (!gg_node_is(format, "format_specifier") || text.len < 2) return false;
        for (size_t i = 1; i < text.len; i++)
            if (strchr("0123456789.efg", text.ptr[i]) == NULL) return false;
        if (!gg__is_floating(gg__infer(p->in, value).dtype)) return false;
    }
    if (gg_str_contains(gg__text(p->in->tree, node), GG_STR("=}"))) return false;
    gg_buf_printf(&p->format, "{%.*s}", GG_STR_ARG(text));
    add_value(p, value);
    return true;
}

static bool add_string(printing *p, TSNode string) {
    gg_str start = gg__text(p->in->tree, ts_node_child(string, 0)); /* f", ', … */
    if (gg_str_contains(start, GG_STR("b")) || gg_str_contains(start, GG_STR("r"))) return false;
    for (uint32_t i = 0; i < gg__child_count(string); i++) {
        TSNode part = gg__child(string, i);
        if (gg_node_is(part, "interpolation") && !add_interpolation(p, part)) return false;
        if (gg_node_is(part, "string_content") && !add_text(p, part)) return false;
    }
    return true;
}

/* `t.item()` */
static bool add_item(printing *p, TSNode call) {
    TSNode function = gg__field(call, "function"), value = gg__field(function, "object");
    if (!gg_node_is(call, "call") || !gg_node_is(function, "attribute") ||
        !gg_str_is(gg__text(p->in->tree, gg__field(function, "attribute")), "item") ||
        gg__child_count(gg__field(call, "arguments")) > 0 || !is_number(p->in, value))
        return false;
    gg_buf_append_z(&p->format, "{}");
    add_value(p, gg__strip_parentheses(value));
    return true;
}

static bool add_arguments(printing *p, TSNode arguments) {
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (i > 0) gg_buf_append_char(&p->format, ' ');
        if (gg_node_is(argument, "integer")  ? !add_text(p, argument)
            : gg_node_is(argument, "string") ? !add_string(p, argument)
                                             : !add_item(p, argument))
            return false;
    }
    return gg__child_count(arguments) > 0 && !p->format.overflow && !p->values.overflow;
}

static bool is_all_on_cpu(const gg_rule_input *in) {
    const gg_break *record = in->site->first;
    bool any = false;
    for (size_t i = 0; record && i < record->fact_count; i++) {
        if (record->facts[i].kind != GG_VALUE_TENSOR) continue;
        if (!gg_str_is(record->facts[i].device, "cpu")) return false;
        any = true;
    }
    return any;
}

/* In an arm of a branch that breaks the graph itself: whoever mends that one does something about its messages. */
static bool is_under_a_branch(const gg_rule_input *in, TSNode statement) {
    for (TSNode at = gg__parent(statement); !ts_node_is_null(at) && !gg_node_is(at, "function_definition");
         at = gg__parent(at)) {
        bool arm = gg_node_is(at, "if_statement") || gg_node_is(at, "elif_clause");
        if (arm && gg__has_truth(in, gg__field(at, "condition"))) return true;
    }
    return false;
}

/* The format and the values; the caller clears the buffers whatever comes back. */
static bool read_print(const gg_rule_input *in, TSNode *out_statement, printing *p) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), call = gg__child(statement, 0);
    *p = (printing){.in = in};
    *out_statement = statement;
    gg_buf_init(&p->format, 4096);
    gg_buf_init(&p->values, 4096);
    return gg_node_is(statement, "expression_statement") && gg_node_is(call, "call") &&
           gg__names_builtin(in->tree, gg__field(call, "function"), "print") &&
           gg__alone_on_line(in->tree, statement) && !gg__is_heard(in, statement) &&
           !gg__is_told_apart(in->tree, statement) && is_all_on_cpu(in) && !is_under_a_branch(in, statement) &&
           !gg__has_comment(in->tree, gg_node_span(statement)) && gg__can_name(in->tree, statement, "torch") &&
           add_arguments(p, gg__field(call, "arguments"));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    printing p;
    bool found = read_print(in, &out->node, &p);
    gg_buf_clear(&p.format);
    gg_buf_clear(&p.values);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    printing p;
    TSNode statement = match->node;
    int error = 0;
    if (read_print(in, &statement, &p)) {
        gg_str torch = gg__require_module(in->tree, statement, "torch", arena, out);
        uint32_t start = ts_node_start_byte(statement);
        gg_str indent = gg__indent(in->tree, start), unit = gg__indent_unit(in->tree), newline = gg__newline(in->tree);
        gg_str format = gg_buf_str(&p.format), values = gg_buf_str(&p.values);
        gg_str head = gg_arena_printf(arena, "if %.*s.compiler.is_compiling():%.*s%.*s%.*s", GG_STR_ARG(torch),
                                      GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(unit));
        gg_str tail = gg_arena_printf(arena, "%.*selse:%.*s%.*s%.*s", GG_STR_ARG(indent), GG_STR_ARG(newline),
                                      GG_STR_ARG(indent), GG_STR_ARG(unit));
        gg_edits_add(out, (gg_span){start, start},
                     gg_arena_printf(arena, "%.*s%.*s._higher_order_ops.print(\"%.*s\"%.*s)%.*s%.*s", GG_STR_ARG(head),
                                     GG_STR_ARG(torch), GG_STR_ARG(format), GG_STR_ARG(values), GG_STR_ARG(newline),
                                     GG_STR_ARG(tail)));
    } else {
        error = gg_fail(err, GG_ENOMATCH, "a graph would print something else");
    }
    gg_buf_clear(&p.format);
    gg_buf_clear(&p.values);
    return error;
}

const gg_rule gg_rule_traced_print = {
    .code = "GG028",
    .name = "traced-print",
    .title = "Print from inside the graph",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
