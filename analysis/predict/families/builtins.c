/* Python's own functions that Dynamo cannot trace, at all or of tensors. */
#include "analysis/predict/predict.h"

static bool is_untraced(gg_str name) {
    static const char *const names[] = {"print",        "input",     "breakpoint", "open",   "exec",
                                        "globals",      "bytearray", "memoryview", "object", "property",
                                        "staticmethod", "compile",   "bytes"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

/* eval("1 + 1") is a constant; with a name in it, it is not. */
static bool names_something(gg__walk *w, const gg__argument *code) {
    if (code == NULL || gg__node_of(code->node) != GG__NODE_string) return true;
    gg_str text = gg__text_of(w, code->node);
    for (size_t i = 0; i < text.len; i++)
        if ((text.ptr[i] | 32) >= 'a' && (text.ptr[i] | 32) <= 'z') return true;
    return false;
}

static void on_call(gg__walk *w, const gg__call *call) {
    gg_str builtins = GG_STR("builtins."), operators = GG_STR("operator."), path = call->callee.path;
    if (call->callee.kind != GG__DOTTED) return;
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    const gg__value *tensor = first && gg__is_tensor(&first->value) ? &first->value : NULL;
    if (gg_str_starts_with(path, operators) && tensor &&
        (gg_str_is(path, "operator.truth") || gg_str_is(path, "operator.not_"))) {
        gg__found(w, GG__RULE_BUILTIN, gg_str_is(path, "operator.not_") ? "GB0033" : NULL, call->node, tensor);
        return;
    }
    if (!gg_str_starts_with(path, builtins)) return;
    gg_str name = gg_str_slice(path, builtins.len, path.len);
    if (is_untraced(name) || (gg_str_is(name, "eval") && names_something(w, first)))
        gg__found(w, GG__RULE_BUILTIN, NULL, call->node, NULL);
    if (gg_str_is(name, "__import__")) gg__found(w, GG__RULE_BUILTIN, "GB0007", call->node, NULL);
    if (gg_str_is(name, "dir") && first == NULL) gg__found(w, GG__RULE_BUILTIN, "GB0193", call->node, NULL);
    const gg__argument *second = gg__argument_at(call, 1, NULL);
    if (tensor == NULL && second && gg__is_tensor(&second->value) && gg_str_is(name, "pow")) tensor = &second->value;
    if (tensor && (gg_str_is(name, "dir") || gg_str_is(name, "pow")))
        gg__found(w, GG__RULE_BUILTIN, NULL, call->node, tensor);
}

/* Where a tensor lies in memory, and which object it is, is not known while compiling. */
static void on_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    if (!gg_str_is(op, "==") && !gg_str_is(op, "!=")) return;
    const gg__value *sides[] = {left, right};
    for (size_t i = 0; i < GG_COUNT(sides); i++) {
        if (sides[i]->kind != GG__NUMBER || sides[i]->path.len == 0) continue;
        bool id = gg_str_is(sides[i]->path, "id");
        gg__found(w, GG__RULE_IDENTITY, id ? "GB9316" : NULL, node, NULL);
        if (id) gg__note_eager(w);
        return;
    }
}

const gg__family gg__family_builtins = {.on_call = on_call, .on_operator = on_operator};
