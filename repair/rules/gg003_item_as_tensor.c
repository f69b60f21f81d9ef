/* GG003 item-as-tensor: `.item()` and float() bring a value to Python, which a graph cannot do.
 * Offers: the 0-d tensor itself, detached, where the number only meets floating tensors in arithmetic.  Refuses: when any use is another
 * one, when the other operand is no floating tensor of rank 1 or more (a 0-d tensor would take part in promotion), for integers.
 * Safety: exact.  Page: docs/rules/GG003.md */
#include "repair/syntax.h"

typedef struct extraction {
    TSNode call;  /* E.item() or float(E) */
    TSNode value; /* E */
} extraction;

static bool match_extraction(const gg_rule_input *in, extraction *out) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = ts_node_parent(at)) {
        if (!gg_node_is(at, "call")) continue;
        TSNode function = gg__field(at, "function"), arguments = gg__field(at, "arguments");
        uint32_t count = ts_node_named_child_count(arguments);
        *out = (extraction){.call = at};
        if (gg_node_is(function, "attribute") &&
            gg_str_is(gg_node_text(in->tree, gg__field(function, "attribute")), "item") && count == 0)
            out->value = gg__field(function, "object");
        else if (gg_node_is(function, "identifier") && gg_str_is(gg_node_text(in->tree, function), "float") &&
                 count == 1)
            out->value = ts_node_named_child(arguments, 0);
        else
            return false;
        gg__meta m = gg__infer(in, out->value);
        return m.sort == GG__TENSOR && m.rank == 0 && gg__is_floating(m.dtype);
    }
    return false;
}

/* Is this use an operand of + - * / whose other operand is a floating tensor of rank 1 or more? */
static bool arithmetic_use(const gg_rule_input *in, TSNode use) {
    TSNode parent = ts_node_parent(use);
    while (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "unary_operator")) {
        use = parent;
        parent = ts_node_parent(parent);
    }
    if (!gg_node_is(parent, "binary_operator")) return false;
    gg_str op = gg_node_text(in->tree, gg__field(parent, "operator"));
    if (!gg_str_is(op, "+") && !gg_str_is(op, "-") && !gg_str_is(op, "*") && !gg_str_is(op, "/")) return false;
    TSNode left = gg__field(parent, "left"), right = gg__field(parent, "right");
    gg__meta other = gg__infer(in, ts_node_eq(left, use) ? right : left);
    if (other.sort == GG__TENSOR) return other.rank >= 1 && gg__is_floating(other.dtype);
    bool number = other.sort == GG__SCALAR_INT || other.sort == GG__SCALAR_FLOAT;
    bool divides_number = gg_str_is(op, "/") && ts_node_eq(right, use); /* 1.0 / 0.0 raises, a tensor gives inf */
    return number && !divides_number && arithmetic_use(in, parent);
}

typedef struct uses {
    const gg_rule_input *in;
    gg_str name;
    uint32_t bound; /* where the one assignment's left side is */
    bool fine;
    uint32_t count;
} uses;

static bool check_use(TSNode node, void *data) {
    uses *u = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg_node_text(u->in->tree, node), u->name)) return true;
    TSNode parent = ts_node_parent(node);
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) return true;
    if (ts_node_start_byte(node) == u->bound) return true;
    u->count++;
    u->fine = ts_node_start_byte(node) > u->bound && arithmetic_use(u->in, node);
    return u->fine;
}

/* `s = E.item()`, s bound once, every use arithmetic. */
static bool assigned_use(const gg_rule_input *in, TSNode call) {
    TSNode assignment = ts_node_parent(call);
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(ts_node_parent(assignment), "expression_statement"))
        return false;
    TSNode left = gg__field(assignment, "left");
    if (!gg_node_is(left, "identifier") || !ts_node_is_null(gg__field(assignment, "type"))) return false;
    uses u = {in, gg_node_text(in->tree, left), ts_node_start_byte(left), true, 0};
    TSNode function = gg__function(call);
    if (!gg_node_is(function, "function_definition")) return false;
    gg__visit(function, check_use, &u);
    return u.fine && u.count > 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    extraction e;
    if (!gg_str_is(in->site->id, "GB0124") || !match_extraction(in, &e)) return false;
    if (gg__has_comment(in->tree, gg_node_span(e.call))) return false;
    out->node = e.call;
    return arithmetic_use(in, e.call) || assigned_use(in, e.call);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    extraction e;
    if (!match_extraction(in, &e))
        return gg_fail(err, GG_ENOMATCH, "the value is not proven to be a 0-d floating tensor");
    /* detach() shares memory with its source: a name that is changed in place later needs a copy. */
    TSNode value = gg__strip_parentheses(e.value);
    bool fresh = gg__infer(in, value).fresh;
    bool copy = !fresh && (!gg_node_is(value, "identifier") ||
                           gg__mutates(in->tree, gg__function(e.call), gg_node_text(in->tree, value)));
    bool simple = gg_node_is(value, "identifier") || gg_node_is(value, "call") || gg_node_is(value, "attribute");
    gg_str text = gg_node_text(in->tree, simple ? value : e.value);
    bool wrap = !simple && !gg_node_is(e.value, "parenthesized_expression");
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%s%.*s%s.detach()%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                                 copy ? ".clone()" : ""));
    return 0;
}

const gg_rule gg_rule_item_as_tensor = {
    .code = "GG003",
    .name = "item-as-tensor",
    .title = "Keep the value as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
