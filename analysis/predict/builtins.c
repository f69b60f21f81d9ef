/* What Python's own functions give. */
#include "analysis/predict/predict.h"

static const char *const names[] = {
    "abs",        "all",        "any",         "bool",      "breakpoint", "bytes",        "callable", "complex",
    "dict",       "dir",        "divmod",      "enumerate", "eval",       "exec",         "filter",   "float",
    "format",     "frozenset",  "getattr",     "globals",   "hasattr",    "hash",         "id",       "input",
    "int",        "isinstance", "issubclass",  "iter",      "len",        "list",         "locals",   "map",
    "max",        "min",        "next",        "object",    "open",       "ord",          "pow",      "print",
    "__import__", "bytearray",  "classmethod", "compile",   "memoryview", "staticmethod", "property", "range",
    "repr",       "reversed",   "round",       "set",       "setattr",    "slice",        "sorted",   "str",
    "sum",        "super",      "tuple",       "type",      "vars",       "zip",
};

bool gg__is_builtin(gg_str name) {
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

static gg__value range_of(gg__walk *w, const gg__call *call) {
    gg__value out = gg__sequence_of(w, gg__number(GG__INT));
    const gg__argument *only = gg__argument_at(call, 0, NULL);
    if (call->count == 1 && only && only->value.constant) out.truth = only->value.integer > 0 ? GG__TRUE : GG__FALSE;
    if (call->count == 1 && only && !only->value.constant) out.truth = GG__MAYBE;
    return out;
}

static gg__value pairs_of(gg__walk *w, const gg__call *call, bool counted) {
    gg__value *items = GG_ARENA_ARRAY(w->arena, gg__value, call->count + 1);
    uint32_t count = 0;
    gg__truth truth = GG__TRUE;
    if (counted) items[count++] = gg__number(GG__INT);
    for (uint32_t i = 0; i < call->count && !(counted && i > 0); i++) {
        const gg__value *given = &call->arguments[i].value;
        items[count++] = gg__element_of(given);
        bool runs = gg__truth_of(given) == GG__TRUE || given->kind == GG__TENSOR || given->kind == GG__MODULE;
        if (!runs) truth = GG__MAYBE;
    }
    gg__value tuple = {.kind = GG__SEQUENCE, .items = items, .item_count = count};
    gg__value out = gg__sequence_of(w, tuple);
    out.truth = truth;
    return out;
}

/* isinstance(x, torch.Tensor) of what is known. */
static gg__value is_instance(const gg__call *call) {
    if (call->count == 2 && call->arguments[1].value.kind == GG__DOTTED) {
        const gg__value *value = &call->arguments[0].value;
        gg_str type = call->arguments[1].value.path;
        bool is_tensor = gg_str_is(type, "torch.Tensor");
        if (is_tensor && gg__is_surely_tensor(value)) return gg__truth_value(GG__TRUE);
        if (is_tensor &&
            (value->kind == GG__NUMBER || value->kind == GG__STRING || value->kind == GG__SEQUENCE ||
             value->kind == GG__NONE || value->kind == GG__MAPPING) &&
            !value->maybe_none)
            return gg__truth_value(GG__FALSE);
        if (gg_str_starts_with(type, GG_STR("builtins.")) && gg__is_surely_tensor(value))
            return gg__truth_value(GG__FALSE);
    }
    gg__value out = gg__number(GG__BOOL);
    if (call->count && call->arguments[0].value.absent) out.usual = GG__FALSE;
    return out;
}

/* map(f, xs): f is called, with an element. */
static gg__value mapped(gg__walk *w, const gg__call *call) {
    if (call->count != 2) return gg__of_kind(GG__SEQUENCE);
    gg__value element = gg__element_of(&call->arguments[1].value);
    gg__argument argument = {.node = call->arguments[1].node, .value = element};
    gg__call inner = {.node = call->node, .callee = call->arguments[0].value, .arguments = &argument, .count = 1};
    return gg__sequence_of(w, gg__call_value(w, &inner));
}

static gg__value extreme(const gg__call *call) {
    bool tensor = false;
    gg__value out = gg__of_kind(GG__UNKNOWN);
    for (uint32_t i = 0; i < call->count; i++) {
        gg__value value = call->arguments[i].value;
        if (value.kind == GG__SEQUENCE && call->count == 1) value = gg__element_of(&value);
        if (gg__is_tensor(&value)) {
            tensor = true;
            out = value;
        } else if (!tensor) {
            out = i == 0 ? value : gg__join(out, value);
            out.constant = false;
        }
    }
    return out;
}

gg__value gg__builtin_call(gg__walk *w, const gg__call *call, gg_str name) {
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    const gg__value *value = first ? &first->value : NULL;
    if (gg_str_is(name, "range")) return range_of(w, call);
    if (gg_str_is(name, "enumerate")) return pairs_of(w, call, true);
    if (gg_str_is(name, "zip")) return pairs_of(w, call, false);
    if (gg_str_is(name, "isinstance")) return is_instance(call);
    if (gg_str_is(name, "map")) return mapped(w, call);
    if (gg_str_is(name, "len")) {
        gg__value out = gg__number(GG__INT);
        if (value && value->kind == GG__SEQUENCE && value->items) {
            out.constant = true;
            out.integer = value->item_count;
        }
        return out;
    }
    if (gg_str_is(name, "id") && value && gg__is_tensor(value) && !value->input) {
        gg__value out = gg__number(GG__INT);
        out.path = GG_STR("id"); /* see families/builtins.c */
        return out;
    }
    if (gg_str_is(name, "int") || gg_str_is(name, "ord") || gg_str_is(name, "id") || gg_str_is(name, "hash"))
        return gg__number(GG__INT);
    if (gg_str_is(name, "float")) return gg__number(GG__FLOAT);
    if (gg_str_is(name, "bool"))
        return value && !gg__is_tensor(value) ? gg__truth_value(gg__truth_of(value)) : gg__number(GG__BOOL);
    if (gg_str_is(name, "callable") || gg_str_is(name, "hasattr") || gg_str_is(name, "issubclass") ||
        gg_str_is(name, "all") || gg_str_is(name, "any"))
        return gg__number(GG__BOOL);
    if (gg_str_is(name, "str") || gg_str_is(name, "repr") || gg_str_is(name, "format")) return gg__of_kind(GG__STRING);
    if (gg_str_is(name, "dict")) return gg__of_kind(GG__MAPPING);
    if (gg_str_is(name, "list") || gg_str_is(name, "tuple") || gg_str_is(name, "sorted") ||
        gg_str_is(name, "reversed") || gg_str_is(name, "set") || gg_str_is(name, "iter")) {
        if (value == NULL) {
            gg__value empty = gg__of_kind(GG__SEQUENCE);
            empty.items = GG_ARENA_NEW(w->arena, gg__value);
            return empty;
        }
        if (value->kind == GG__SEQUENCE && !gg_str_is(name, "reversed") && !gg_str_is(name, "sorted") &&
            !gg_str_is(name, "set"))
            return *value;
        gg__value out = gg__sequence_of(w, gg__element_of(value));
        out.truth = value->kind == GG__TENSOR ? GG__TRUE : gg__truth_of(value);
        return out;
    }
    if (gg_str_is(name, "next")) return value ? gg__element_of(value) : gg__of_kind(GG__UNKNOWN);
    if (gg_str_is(name, "max") || gg_str_is(name, "min")) return extreme(call);
    if (gg_str_is(name, "sum")) {
        gg__value out = value ? gg__element_of(value) : gg__of_kind(GG__UNKNOWN);
        out.constant = false;
        return out;
    }
    if (gg_str_is(name, "abs") || gg_str_is(name, "round") || gg_str_is(name, "pow")) {
        gg__value out = value ? *value : gg__of_kind(GG__UNKNOWN);
        out.constant = false;
        return out;
    }
    if (gg_str_is(name, "print") || gg_str_is(name, "setattr")) return gg__of_kind(GG__NONE);
    return gg__of_kind(GG__UNKNOWN);
}
