/* Text of a tensor's values. */
#include <string.h>

#include "analysis/predict/predict.h"

static void on_call(gg__walk *w, const gg__call *call) {
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (call->callee.kind != GG__DOTTED || first == NULL) return;
    gg_str path = call->callee.path;
    bool tensor = gg__is_tensor(&first->value);
    if (tensor && (gg_str_is(path, "builtins.str") || gg_str_is(path, "builtins.repr")))
        gg__found(w, GG__RULE_STRING, gg_str_is(path, "builtins.repr") ? "GB0569" : NULL, call->node, &first->value);
    if (first->value.kind == GG__ARRAY && !first->value.folded && gg_str_is(path, "builtins.str"))
        gg__found(w, GG__RULE_STRING, NULL, call->node, NULL);
    if (first->value.kind == GG__STRING && first->value.from_data && gg_str_is(path, "builtins.len"))
        gg__found(w, GG__RULE_STRING, "GB0088", call->node, NULL);
}

/* "%d", "%5.2f", …: it wants a number. */
static bool wants_number(gg_str format) {
    for (size_t i = 0; i + 1 < format.len; i++) {
        if (format.ptr[i] != '%') continue;
        for (i++; i < format.len && strchr("#0- +*.123456789", format.ptr[i]); i++) continue;
        if (i < format.len && format.ptr[i] != '\0' && strchr("diouxXeEfFgG", format.ptr[i])) return true;
    }
    return false;
}

static void find_formatted(gg__walk *w, TSNode node, const gg__value *right) {
    bool number = wants_number(gg__text_of(w, GG__FIELD(w, node, left)));
    if (gg__is_tensor(right)) {
        gg__found(w, GG__RULE_STRING, number ? "GB0033" : "GB0208", node, right);
        gg__note_eager(w);
    }
    for (uint32_t i = 0; right->kind == GG__SEQUENCE && right->items && i < right->item_count; i++) {
        if (!gg__is_tensor(&right->items[i])) continue;
        gg__found(w, GG__RULE_STRING, number ? "GB0088" : "GB0059", node, &right->items[i]);
        return;
    }
}

static void on_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    if ((gg_str_is(op, "==") || gg_str_is(op, "!=")) && (left->kind == GG__STRING && left->from_data))
        gg__found(w, GG__RULE_STRING, "GB9648", node, NULL);
    if (gg_str_is(op, "%") && left->kind == GG__STRING) find_formatted(w, node, right);
}

const gg__family gg__family_text = {.on_call = on_call, .on_operator = on_operator};
