/* Evaluates expressions. */
#include "analysis/predict/predict.h"

#include <stdlib.h>

bool gg__may_go_on(gg__walk *w) {
    if (w->nesting > w->deepest) w->deepest = w->nesting;
    return w->nesting < GG__MAX_NESTING && ++w->steps <= w->max_steps;
}

/* ---- displays, comprehensions -------------------------------------------------------------------------------------------- */

static gg__value eval_display(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    gg__value *items = GG_ARENA_ARRAY(w->arena, gg__value, parts.len + 1);
    gg__value out = gg__of_kind(GG__SEQUENCE);
    bool known = true;
    for (uint32_t i = 0; i < parts.len; i++) {
        bool splat = gg__node_of(parts.items[i]) == GG__NODE_list_splat;
        items[i] = gg__eval(w, splat ? ts_node_named_child(parts.items[i], 0) : parts.items[i]);
        if (splat) {
            items[i] = gg__element_of(&items[i]);
            known = false;
        }
        out.of = gg__keep(w, out.of ? gg__join(*out.of, items[i]) : items[i]);
    }
    if (known) {
        out.items = items;
        out.item_count = parts.len;
    }
    return out;
}

static gg__value eval_dictionary(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    gg__value out = gg__of_kind(GG__MAPPING);
    for (uint32_t i = 0; i < parts.len; i++) {
        if (gg__node_of(parts.items[i]) != GG__NODE_pair) {
            (void)gg__eval(w, ts_node_named_child(parts.items[i], 0));
            out.of = gg__keep(w, gg__of_kind(GG__UNKNOWN));
            continue;
        }
        (void)gg__eval(w, GG__FIELD(w, parts.items[i], key));
        gg__value value = gg__eval(w, GG__FIELD(w, parts.items[i], value));
        out.of = gg__keep(w, out.of ? gg__join(*out.of, value) : value);
    }
    out.truth = parts.len ? GG__MAYBE : GG__FALSE;
    return out;
}

gg__value gg__element_of(const gg__value *iterable) {
    switch (iterable->kind) {
    case GG__SEQUENCE:
        return iterable->of ? *iterable->of : gg__of_kind(GG__UNKNOWN);
    case GG__SHAPE:
        return gg__number(GG__INT);
    case GG__TENSOR: {
        gg__value row = *iterable;
        row.zero_dim = row.maybe_none = row.input = row.handed_on = false;
        return row;
    }
    case GG__MODULE:
        return iterable->of ? *iterable->of : gg__of_kind(GG__UNKNOWN);
    case GG__STRING:
        return gg__of_kind(GG__STRING);
    default:
        return gg__of_kind(GG__UNKNOWN);
    }
}

static gg__value eval_comprehension(gg__walk *w, TSNode node) {
    gg__scope *before = w->frame->scope;
    w->frame->scope = gg__scope_copy(w, before);
    gg__nodes parts = gg__children(w->syntax, node);
    const gg__guard *outer = w->guard;
    bool runs = true;
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__node type = gg__node_of(parts.items[i]);
        if (type == GG__NODE_for_in_clause) {
            gg__value iterable = gg__eval(w, GG__FIELD(w, parts.items[i], right));
            runs = runs && (gg__truth_of(&iterable) == GG__TRUE || iterable.kind == GG__TENSOR);
            gg__bind(w, GG__FIELD(w, parts.items[i], left), gg__element_of(&iterable));
        } else if (type == GG__NODE_if_clause) {
            gg__truth truth = gg__eval_condition(w, ts_node_named_child(parts.items[i], 0));
            runs = runs && truth == GG__TRUE;
        }
    }
    gg__guard guard = {.text = GG_STR("the comprehension has elements"), .unlikely = outer && outer->unlikely};
    if (!runs) w->guard = &guard;
    TSNode body = GG__FIELD(w, node, body);
    gg__value element;
    if (gg__node_of(body) == GG__NODE_pair) {
        (void)gg__eval(w, GG__FIELD(w, body, key));
        element = gg__eval(w, GG__FIELD(w, body, value));
    } else {
        element = gg__eval(w, body);
    }
    w->guard = outer;
    w->frame->scope = before;
    if (gg__node_of(node) == GG__NODE_dictionary_comprehension) return gg__of_kind(GG__MAPPING);
    gg__value out = gg__sequence_of(w, element);
    out.truth = runs ? GG__TRUE : GG__MAYBE;
    return out;
}

/* ---- the others ------------------------------------------------------------------------------------------------------------ */

static gg__value eval_subscript(gg__walk *w, TSNode node) {
    gg__value object = gg__eval(w, GG__FIELD(w, node, value));
    gg__nodes parts = gg__children(w->syntax, node);
    gg__value index = gg__of_kind(GG__UNKNOWN);
    for (uint32_t i = 1; i < parts.len; i++) {
        index = gg__eval(w, parts.items[i]);
        GG__TELL(on_subscript, w, node, &object, &index, false);
    }
    bool slices = parts.len == 2 && gg__node_of(parts.items[1]) == GG__NODE_slice;
    switch (object.kind) {
    case GG__TENSOR:
    case GG__ARRAY:
        object.zero_dim = object.maybe_none = object.input = object.handed_on = false;
        return object;
    case GG__SHAPE:
        return slices ? object : gg__number(GG__INT);
    case GG__SEQUENCE:
        if (slices) {
            object.items = NULL;
            object.item_count = 0;
            return object;
        }
        if (object.items && index.constant) {
            int64_t at = index.integer < 0 ? index.integer + object.item_count : index.integer;
            if (at >= 0 && at < object.item_count) return object.items[at];
        }
        return gg__element_of(&object);
    case GG__MODULE:
        return slices ? object : gg__element_of(&object);
    case GG__MAPPING:
        return object.of ? *object.of : gg__of_kind(GG__UNKNOWN);
    default:
        return gg__of_kind(GG__UNKNOWN);
    }
}

static void eval_all(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 0; i < parts.len; i++) (void)gg__eval(w, parts.items[i]);
}

/* f"{tensor}" is text that only the run knows. */
static gg__value eval_string(gg__walk *w, TSNode node) {
    gg__value out = gg__of_kind(GG__STRING);
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__node type = gg__node_of(parts.items[i]);
        if (type == GG__NODE_interpolation) {
            gg__value value = gg__eval(w, GG__FIELD(w, parts.items[i], expression));
            out.from_data = out.from_data || gg__is_tensor(&value);
        } else if (type == GG__NODE_string) {
            out.from_data = eval_string(w, parts.items[i]).from_data || out.from_data;
        }
    }
    return out;
}

static gg__value eval_unary(gg__walk *w, TSNode node) {
    gg__value value = gg__eval(w, GG__FIELD(w, node, argument));
    if (value.constant && gg_str_is(gg__text_of(w, GG__FIELD(w, node, operator)), "-")) value.integer = -value.integer;
    value.input = false;
    value.maybe_none = false;
    return value;
}

static gg__value eval_integer(gg__walk *w, TSNode node) {
    gg__value out = gg__number(GG__INT);
    char digits[24];
    gg_str text = gg__text_of(w, node);
    if (text.len >= sizeof(digits)) return out;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = '\0';
    char *end;
    out.integer = strtoll(digits, &end, 10);
    out.constant = *end == '\0';
    return out;
}

static gg__value eval_name(gg__walk *w, TSNode node) {
    gg_str name = gg__text_of(w, node);
    const gg__value *found = gg__scope_find(w, w->frame->scope, name);
    if (found) return *found;
    if (gg__is_builtin(name)) return gg__dotted(gg_arena_printf(w->arena, "builtins.%.*s", GG_STR_ARG(name)));
    return gg__of_kind(GG__UNKNOWN);
}

static gg__value eval_attribute(gg__walk *w, TSNode node) {
    gg__value object = gg__eval(w, GG__FIELD(w, node, object));
    gg_str name = gg__text_of(w, GG__FIELD(w, node, attribute));
    if (gg__is_tensors_own(name)) gg__confirm(&object);
    GG__TELL(on_attribute, w, node, &object, name);
    return gg__attribute_of(w, &object, name);
}

static gg__value eval_named(gg__walk *w, TSNode node) {
    gg__value value = gg__eval(w, GG__FIELD(w, node, value));
    gg__bind(w, GG__FIELD(w, node, name), value);
    return value;
}

static gg__value eval_inner(gg__walk *w, TSNode node) { /* (x), *x, await x */
    return gg__eval(w, ts_node_named_child(node, 0));
}

static gg__value eval_not(gg__walk *w, TSNode node) {
    return gg__truth_value(gg__eval_condition(w, node));
}

static gg__value eval_lambda(gg__walk *w, TSNode node) {
    return (gg__value){.kind = GG__FUNCTION, .node = node, .scope = w->frame->scope};
}

static gg__value eval_slice(gg__walk *w, TSNode node) {
    eval_all(w, node);
    return gg__of_kind(GG__OTHER);
}

static gg__value eval_yield(gg__walk *w, TSNode node) {
    GG__TELL(on_statement, w, node, GG__NODE_yield);
    if (w->yields)
        gg_list_push(w->yields, gg__eval(w, ts_node_named_child(node, 0)));
    else
        eval_all(w, node);
    return gg__of_kind(GG__UNKNOWN);
}

static gg__value eval_interpolation(gg__walk *w, TSNode node) {
    (void)gg__eval(w, GG__FIELD(w, node, expression));
    return gg__of_kind(GG__STRING);
}

static gg__value eval_constant(gg__walk *w, TSNode node) {
    (void)w;
    switch (gg__node_of(node)) {
    case GG__NODE_float:
        return gg__number(GG__FLOAT);
    case GG__NODE_true:
        return gg__truth_value(GG__TRUE);
    case GG__NODE_false:
        return gg__truth_value(GG__FALSE);
    case GG__NODE_none:
        return gg__of_kind(GG__NONE);
    default:
        return gg__of_kind(GG__OTHER);
    }
}

static gg__value (*const evaluators[GG__NODE_COUNT])(gg__walk *w, TSNode node) = {
    [GG__NODE_identifier] = eval_name,
    [GG__NODE_attribute] = eval_attribute,
    [GG__NODE_call] = gg__eval_call,
    [GG__NODE_subscript] = eval_subscript,
    [GG__NODE_binary_operator] = gg__eval_binary,
    [GG__NODE_unary_operator] = eval_unary,
    [GG__NODE_comparison_operator] = gg__eval_comparison,
    [GG__NODE_boolean_operator] = gg__eval_boolean,
    [GG__NODE_not_operator] = eval_not,
    [GG__NODE_conditional_expression] = gg__eval_ternary,
    [GG__NODE_parenthesized_expression] = eval_inner,
    [GG__NODE_list_splat] = eval_inner,
    [GG__NODE_await] = eval_inner,
    [GG__NODE_list] = eval_display,
    [GG__NODE_tuple] = eval_display,
    [GG__NODE_set] = eval_display,
    [GG__NODE_expression_list] = eval_display,
    [GG__NODE_dictionary] = eval_dictionary,
    [GG__NODE_list_comprehension] = eval_comprehension,
    [GG__NODE_set_comprehension] = eval_comprehension,
    [GG__NODE_generator_expression] = eval_comprehension,
    [GG__NODE_dictionary_comprehension] = eval_comprehension,
    [GG__NODE_integer] = eval_integer,
    [GG__NODE_float] = eval_constant,
    [GG__NODE_true] = eval_constant,
    [GG__NODE_false] = eval_constant,
    [GG__NODE_none] = eval_constant,
    [GG__NODE_ellipsis] = eval_constant,
    [GG__NODE_string] = eval_string,
    [GG__NODE_concatenated_string] = eval_string,
    [GG__NODE_interpolation] = eval_interpolation,
    [GG__NODE_lambda] = eval_lambda,
    [GG__NODE_named_expression] = eval_named,
    [GG__NODE_slice] = eval_slice,
    [GG__NODE_yield] = eval_yield,
};

gg__value gg__eval(gg__walk *w, TSNode node) {
    if (!gg__may_go_on(w)) return gg__of_kind(GG__UNKNOWN);
    gg__value (*evaluate)(gg__walk *, TSNode) = evaluators[gg__node_of(node)];
    if (evaluate == NULL) return gg__of_kind(GG__UNKNOWN);
    gg__touch(w, node);
    w->nesting++;
    gg__value value = evaluate(w, node);
    w->nesting--;
    return value;
}
