/* Who sees what happens in a statement: handlers and contexts around it.  See syntax.h.  Any thread. */
#include "repair/slice.h"

static bool is_torchs(const gg_tree *tree, TSNode with) {
    gg_str torch = gg__module_alias(tree, with, "torch");
    TSNode clause = gg__child(with, 0);
    for (uint32_t i = 0; i < gg__child_count(clause); i++) {
        gg_str text = gg__text(tree, gg__child(clause, i));
        if (!torch.len || !gg_str_starts_with(text, torch) || text.len == torch.len || text.ptr[torch.len] != '.')
            return false;
    }
    return gg_node_is(clause, "with_clause");
}

static bool has_handler(TSNode try_statement) {
    for (uint32_t i = 0; i < gg__child_count(try_statement); i++) {
        TSNode child = gg__child(try_statement, i);
        if (gg_node_is(child, "except_clause") || gg_node_is(child, "except_group_clause")) return true;
    }
    return false;
}

bool gg__is_watched(const gg_tree *tree, TSNode statement) {
    TSNode child = statement;
    for (TSNode at = gg__parent(statement); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda")) return false;
        if (gg_node_is(at, "try_statement") && ts_node_eq(gg__field(at, "body"), child) && has_handler(at)) return true;
        if (gg_node_is(at, "with_statement") && !is_torchs(tree, at)) return true;
    }
    return false;
}

/* ---- messages ---------------------------------------------------------------------------------------------------------------- */

typedef struct definition {
    const gg_tree *tree;
    TSNode node;
    uint32_t count;
} definition;

static bool find_definition(TSNode node, void *data) {
    definition *d = data;
    TSNode parent = gg__parent(node);
    d->count++;
    d->node =
        gg_node_is(parent, "class_definition") || gg_node_is(parent, "function_definition") ? parent : (TSNode){0};
    return true;
}

/* A context of this file's own that has to do with no output. */
static bool is_own_and_deaf(const gg_tree *tree, TSNode name) {
    static const char *const words[] = {"stdout", "stderr", "redirect", "warnings", "logging", "capture"};
    definition d = {.tree = tree};
    if (!gg_node_is(name, "identifier") || gg__is_local(tree, name, gg__text(tree, name))) return false;
    gg__each_module_binding(tree, gg__text(tree, name), find_definition, &d);
    if (d.count != 1 || ts_node_is_null(d.node) || !ts_node_is_null(gg__field(d.node, "superclasses"))) return false;
    for (size_t i = 0; i < GG_COUNT(words); i++)
        if (gg_str_contains(gg__text(tree, d.node), gg_str_from(words[i]))) return false;
    return true;
}

/* `nullcontext() if torch.compiler.is_compiling() else …`: what is compiled runs without it. */
static bool is_for_eager(const gg_tree *tree, TSNode value) {
    TSNode call = gg__child(value, 0), condition = gg__child(value, 1);
    return gg_node_is(value, "conditional_expression") && gg_node_is(call, "call") && gg_node_is(condition, "call") &&
           gg__refers_to(tree, gg__field(call, "function"), "contextlib.nullcontext") &&
           gg__refers_to(tree, gg__field(condition, "function"), "torch.compiler.is_compiling");
}

/* Does a context let all messages through that are no warnings? */
static bool is_deaf(const gg_tree *tree, TSNode item) {
    TSNode value = gg__field(item, "value");
    if (gg_node_is(value, "as_pattern")) value = gg__child(value, 0);
    if (is_for_eager(tree, value)) return true;
    TSNode function = gg_node_is(value, "call") ? gg__field(value, "function") : value;
    static const char *const known[] = {"contextlib.nullcontext", "contextlib.suppress",
                                        "torch.profiler.record_function", "torch.autograd.profiler.record_function",
                                        "torch.no_grad"};
    for (size_t i = 0; i < GG_COUNT(known); i++)
        if (gg__refers_to(tree, function, known[i])) return true;
    if (gg__refers_to(tree, function, "warnings.catch_warnings"))
        return gg__child_count(gg__field(value, "arguments")) == 0;
    return is_own_and_deaf(tree, function);
}

bool gg__is_heard(const gg_rule_input *in, TSNode statement) {
    const gg_tree *tree = in->tree;
    if (!gg__is_watched(tree, statement)) return false;
    /* What cannot fail meets no handler; what is printed goes through a context that does not listen. */
    TSNode work = gg__child(statement, 0), value = gg__bound_value(statement);
    if (!gg_node_is(statement, "expression_statement") ||
        gg__refers_to(tree, gg__field(work, "function"), "warnings.warn")) /* a filter may make it an exception */
        return true;
    if (!gg__cannot_fail(in, ts_node_is_null(value) ? gg__field(work, "arguments") : value)) return true;
    for (TSNode at = gg__parent(statement); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) return false;
        if (!gg_node_is(at, "with_statement") || is_torchs(tree, at)) continue;
        TSNode clause = gg__child(at, 0);
        for (uint32_t i = 0; i < gg__child_count(clause); i++)
            if (!is_deaf(tree, gg__child(clause, i))) return true;
    }
    return false;
}
