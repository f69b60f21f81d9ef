/* Walks statements: which are reached, under which conditions, and what names stand for after them. */
#include "analysis/predict/predict.h"

/* ---- binding ---------------------------------------------------------------------------------------------------------- */

static void bind_parts(gg__walk *w, TSNode target, const gg__value *value) {
    gg__nodes parts = gg__children(w->syntax, target);
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__value part = gg__element_of(value);
        bool star = gg__node_of(parts.items[i]) == GG__NODE_list_splat_pattern;
        if (value->kind == GG__SEQUENCE && value->items && i < value->item_count && !star) part = value->items[i];
        gg__bind(w, parts.items[i], star ? gg__sequence_of(w, part) : part);
    }
}

static void store_attribute(gg__walk *w, TSNode target, gg__value value) {
    gg__value object = gg__eval(w, GG__FIELD(w, target, object));
    gg_str name = gg__text_of(w, GG__FIELD(w, target, attribute));
    GG__TELL(on_store, w, target, &object, name);
    if (object.kind != GG__INSTANCE) return;
    const gg__value *before = gg__scope_own(w, object.object->attributes, name);
    if (before && w->guard) value = gg__join(*before, value);
    gg__scope_set(w, object.object->attributes, name, value);
}

static void store_item(gg__walk *w, TSNode target) {
    gg__value object = gg__eval(w, GG__FIELD(w, target, value));
    gg__value index = gg__eval(w, GG__FIELD(w, target, subscript));
    TSNode name = GG__FIELD(w, target, value);
    const gg__value *known =
        gg__node_of(name) == GG__NODE_identifier ? gg__scope_find(w, w->frame->scope, gg__text_of(w, name)) : NULL;
    if (known && (known->kind == GG__MAPPING || known->kind == GG__SEQUENCE)) { /* it holds something else now too */
        gg__value *held = gg__scope_find_to_change(w, w->frame->scope, gg__text_of(w, name));
        held->of = NULL;
        held->items = NULL;
        held->item_count = 0;
        held->truth = GG__MAYBE;
    }
    GG__TELL(on_subscript, w, target, &object, &index, true);
}

void gg__bind(gg__walk *w, TSNode target, gg__value value) {
    switch (gg__node_of(target)) {
    case GG__NODE_identifier:
        gg__scope_set(w, w->frame->scope, gg__text_of(w, target), value);
        break;
    case GG__NODE_pattern_list:
    case GG__NODE_tuple_pattern:
    case GG__NODE_list_pattern:
    case GG__NODE_tuple:
    case GG__NODE_list:
    case GG__NODE_expression_list:
        bind_parts(w, target, &value);
        break;
    case GG__NODE_list_splat_pattern:
        gg__bind(w, ts_node_named_child(target, 0), value);
        break;
    case GG__NODE_parenthesized_expression:
        gg__bind(w, ts_node_named_child(target, 0), value);
        break;
    case GG__NODE_attribute:
        store_attribute(w, target, value);
        break;
    case GG__NODE_subscript:
        store_item(w, target);
        break;
    default:
        break;
    }
}

/* a = b = value: from left to right. */
static void walk_assignment(gg__walk *w, TSNode node) {
    TSNode last = GG__FIELD(w, node, right);
    while (gg__node_of(last) == GG__NODE_assignment) last = GG__FIELD(w, last, right);
    if (ts_node_is_null(last)) return; /* x: int */
    gg__value value = gg__eval(w, last);
    for (; gg__node_of(node) == GG__NODE_assignment; node = GG__FIELD(w, node, right))
        gg__bind(w, GG__FIELD(w, node, left), value);
}

static gg__value after_operator(gg__value left, gg__value right) {
    if (gg__is_tensor(&left) || gg__is_tensor(&right)) {
        gg__value out = gg__tensor(left.dtype == right.dtype ? left.dtype : GG__DTYPE_UNKNOWN);
        out.confirmed = gg__doubt_of_two(&left, &right);
        return out;
    }
    if (left.kind == GG__NUMBER && right.kind == GG__NUMBER) return gg__number(GG__DTYPE_UNKNOWN);
    if (left.kind == GG__STRING || left.kind == GG__SEQUENCE || left.kind == GG__ARRAY) {
        left.items = NULL;
        left.item_count = 0;
        left.truth = GG__MAYBE;
        return left;
    }
    return gg__of_kind(GG__UNKNOWN);
}

static void walk_augmented(gg__walk *w, TSNode node) {
    TSNode target = GG__FIELD(w, node, left);
    gg__value left = gg__eval(w, target), right = gg__eval(w, GG__FIELD(w, node, right));
    gg__bind(w, target, after_operator(left, right));
}

/* ---- branches ----------------------------------------------------------------------------------------------------------- */

static gg_str guard_words(gg__walk *w, TSNode condition, bool negated) {
    gg_str words = gg__node_words(w, condition);
    return negated ? gg_arena_printf(w->arena, "not (%.*s)", GG_STR_ARG(words)) : words;
}

/* Whether what is walked where the condition evaluated last holds, or does not, hardly ever runs. */
static bool is_unlikely(const gg__walk *w, bool holds) {
    return (w->guard && w->guard->unlikely) || gg__is_opposed(w->usual, holds);
}

/* A block under a condition that may not hold. */
static gg__flow walk_guarded(gg__walk *w, TSNode condition, bool holds, TSNode block, gg__truth known) {
    gg__guard guard = {.text = known == GG__MAYBE ? guard_words(w, condition, !holds) : GG_STR_NULL,
                       .unlikely = is_unlikely(w, holds)};
    const gg__guard *outer = w->guard;
    if (known == GG__MAYBE) w->guard = &guard;
    gg__narrow(w, condition, holds);
    gg__flow flow = gg__node_of(block) == GG__NODE_block ? gg__walk_block(w, block) : gg__walk_statement(w, block);
    w->guard = outer;
    return flow;
}

/* The branch where the condition holds (or not) left the function, or the round of the loop: what follows runs where it does not. */
static void note_leaving(gg__walk *w, TSNode condition, bool holds, gg__flow left) {
    gg_str *needed = left == GG__RETURNS ? &w->frame->returns_if : &w->frame->skips_if;
    if (needed->len == 0) *needed = guard_words(w, condition, holds);
    gg__narrow(w, condition, !holds);
}

static gg__flow walk_alternatives(gg__walk *w, gg__nodes parts, uint32_t next);

static gg__flow walk_if_from(gg__walk *w, TSNode clause, gg__nodes parts, uint32_t next) {
    TSNode condition = GG__FIELD(w, clause, condition), block = GG__FIELD(w, clause, consequence);
    gg__truth known = gg__eval_condition(w, condition);
    if (known == GG__TRUE) return walk_guarded(w, condition, true, block, known);
    if (known == GG__FALSE) return walk_alternatives(w, parts, next);
    gg__scope *before = w->frame->scope, *taken = gg__scope_copy(w, before);
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = guard_words(w, condition, true), .unlikely = is_unlikely(w, false)};
    w->frame->scope = taken;
    gg__flow then = walk_guarded(w, condition, true, block, known);
    taken = w->frame->scope;
    w->frame->scope = gg__scope_copy(w, before);
    w->guard = &guard;
    gg__narrow(w, condition, false);
    gg__flow other = walk_alternatives(w, parts, next);
    gg__scope *left = w->frame->scope;
    w->guard = outer;
    *before = *(then == GG__FALLS ? taken : left);
    w->frame->scope = before;
    if (then == GG__FALLS && other == GG__FALLS) {
        gg__scope_join(w, before, left);
        return GG__FALLS;
    }
    if (then != GG__FALLS && other != GG__FALLS) return then == GG__RAISES ? other : then;
    if (then == GG__RETURNS || then == GG__SKIPS) note_leaving(w, condition, true, then);
    if (other == GG__RETURNS || other == GG__SKIPS) note_leaving(w, condition, false, other);
    if (then == GG__RAISES) gg__narrow(w, condition, false);
    return GG__FALLS;
}

/* The elif and else clauses of an if statement, from parts[next] on. */
static gg__flow walk_alternatives(gg__walk *w, gg__nodes parts, uint32_t next) {
    for (; next < parts.len; next++) {
        gg__node type = gg__node_of(parts.items[next]);
        if (type == GG__NODE_elif_clause) return walk_if_from(w, parts.items[next], parts, next + 1);
        if (type == GG__NODE_else_clause) return gg__walk_block(w, GG__FIELD(w, parts.items[next], body));
    }
    return GG__FALLS;
}

static gg__flow walk_if(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    uint32_t first = 0;
    while (first < parts.len && gg__node_of(parts.items[first]) != GG__NODE_elif_clause &&
           gg__node_of(parts.items[first]) != GG__NODE_else_clause)
        first++;
    return walk_if_from(w, node, parts, first);
}

/* ---- loops -------------------------------------------------------------------------------------------------------------- */

/* The body once in silence, for what its names stand for when it comes round again; then for what is found. */
static void walk_body(gg__walk *w, TSNode node, TSNode left, const gg__value *iterable, bool runs, TSNode condition) {
    gg__frame *frame = w->frame;
    gg__scope *before = frame->scope;
    const gg__guard *outer = w->guard;
    TSNode body = GG__FIELD(w, node, body);
    gg__guard guard = {.text = ts_node_is_null(condition)
                                   ? gg_arena_printf(w->arena, "the loop over %.*s runs",
                                                     GG_STR_ARG(gg__node_words(w, GG__FIELD(w, node, right))))
                                   : guard_words(w, condition, false),
                       .unlikely = w->guard && w->guard->unlikely};
    if (!runs) w->guard = &guard;
    gg_str skips_if = frame->skips_if;
    frame->loops++;
    for (int round = 0; round < 2; round++) {
        gg__scope *inside = gg__scope_copy(w, before);
        frame->scope = inside;
        w->quiet += round == 0;
        if (iterable) gg__bind(w, left, gg__element_of(iterable));
        if (!ts_node_is_null(condition) && round == 1) gg__narrow(w, condition, true);
        (void)gg__walk_block(w, body);
        w->quiet -= round == 0;
        inside = frame->scope;
        frame->scope = before;
        if (round == 0 || !runs) {
            gg__scope_join(w, before, inside);
        } else {
            *before = *inside;
        }
    }
    frame->loops--;
    frame->skips_if = skips_if;
    w->guard = outer;
    TSNode otherwise = GG__FIELD(w, node, alternative);
    if (!ts_node_is_null(otherwise)) (void)gg__walk_block(w, GG__FIELD(w, otherwise, body));
}

static bool surely_runs(const gg__value *iterable) {
    if (iterable->maybe_none) return false;
    if (iterable->kind == GG__SEQUENCE) return gg__truth_of(iterable) == GG__TRUE;
    if (iterable->kind == GG__MODULE) return true; /* a ModuleList that is empty is written for no reason */
    return iterable->kind == GG__TENSOR;
}

static gg__flow walk_for(gg__walk *w, TSNode node) {
    gg__value iterable = gg__eval(w, GG__FIELD(w, node, right));
    TSNode none = {0};
    walk_body(w, node, GG__FIELD(w, node, left), &iterable, surely_runs(&iterable), none);
    return GG__FALLS;
}

static gg__flow walk_while(gg__walk *w, TSNode node) {
    TSNode condition = GG__FIELD(w, node, condition), none = {0};
    gg__truth known = gg__eval_condition(w, condition); /* the first time it is in no loop */
    if (known == GG__FALSE) return GG__FALLS;
    walk_body(w, node, none, NULL, known == GG__TRUE, condition);
    return GG__FALLS;
}

/* ---- try, with, match ------------------------------------------------------------------------------------------------------ */

static gg__flow walk_try(gg__walk *w, TSNode node) {
    gg__scope *before = gg__scope_copy(w, w->frame->scope);
    gg__guard guard = {.text = GG_STR("an exception is raised"), .unlikely = true};
    w->frame->shelters++;
    gg__flow flow = gg__walk_block(w, GG__FIELD(w, node, body));
    w->frame->shelters--;
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 1; i < parts.len; i++) {
        gg__node type = gg__node_of(parts.items[i]);
        gg__nodes inner = gg__children(w->syntax, parts.items[i]);
        TSNode block = inner.len ? inner.items[inner.len - 1] : parts.items[i];
        if (gg__node_of(block) != GG__NODE_block) continue;
        if (type == GG__NODE_except_clause || type == GG__NODE_except_group_clause) {
            const gg__guard *kept = w->guard;
            gg__scope *here = w->frame->scope;
            gg__scope_join(w, before, here);
            w->frame->scope = gg__scope_copy(w, before);
            w->guard = &guard;
            gg__flow caught = gg__walk_block(w, block);
            w->guard = kept;
            if (caught == GG__FALLS) gg__scope_join(w, here, w->frame->scope);
            w->frame->scope = here;
            if (caught == GG__FALLS) flow = GG__FALLS;
        } else if (type == GG__NODE_finally_clause || (type == GG__NODE_else_clause && flow == GG__FALLS)) {
            gg__flow last = gg__walk_block(w, block);
            if (last != GG__FALLS) flow = last;
        }
    }
    return flow;
}

/* A break in it splits the function: torch's own contexts, which Dynamo enters again. */
static bool is_reentered(gg__walk *w, TSNode item, const gg__value *context) {
    gg__value callee = *context;
    if (gg__node_of(item) == GG__NODE_call) {
        w->quiet++;
        callee = gg__eval(w, GG__FIELD(w, item, function));
        w->quiet--;
    }
    return callee.kind == GG__DOTTED &&
           (gg_str_starts_with(callee.path, GG_STR("torch.")) || gg_str_is(callee.path, "contextlib.nullcontext"));
}

static gg__flow walk_with(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    bool shelter = false;
    for (uint32_t i = 0; i < parts.len; i++) {
        if (gg__node_of(parts.items[i]) != GG__NODE_with_clause) continue;
        gg__nodes items = gg__children(w->syntax, parts.items[i]);
        for (uint32_t k = 0; k < items.len; k++) {
            TSNode value = GG__FIELD(w, items.items[k], value), target = {0};
            if (gg__node_of(value) == GG__NODE_as_pattern) {
                target = GG__FIELD(w, value, alias);
                if (gg__node_of(target) == GG__NODE_as_pattern_target) target = ts_node_named_child(target, 0);
                value = ts_node_named_child(value, 0);
            }
            gg__value context = gg__eval(w, value);
            GG__TELL(on_with, w, value, &context);
            shelter = shelter || !is_reentered(w, value, &context);
            if (!ts_node_is_null(target)) gg__bind(w, target, gg__of_kind(GG__UNKNOWN));
        }
    }
    w->frame->shelters += shelter;
    gg__flow flow = gg__walk_block(w, GG__FIELD(w, node, body));
    w->frame->shelters -= shelter;
    return flow;
}

static gg__flow walk_match(gg__walk *w, TSNode node) {
    (void)gg__eval(w, GG__FIELD(w, node, subject));
    gg__nodes cases = gg__children(w->syntax, GG__FIELD(w, node, body));
    gg__scope *before = w->frame->scope;
    gg__scope *joined = NULL;
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("this case matches"), .unlikely = outer && outer->unlikely};
    for (uint32_t i = 0; i < cases.len; i++) {
        if (gg__node_of(cases.items[i]) != GG__NODE_case_clause) continue;
        w->frame->scope = gg__scope_copy(w, before);
        w->guard = &guard;
        gg__flow flow = gg__walk_block(w, GG__FIELD(w, cases.items[i], consequence));
        w->guard = outer;
        if (flow == GG__FALLS && joined) gg__scope_join(w, joined, w->frame->scope);
        if (flow == GG__FALLS && joined == NULL) joined = w->frame->scope;
    }
    if (joined) gg__scope_join(w, before, joined);
    w->frame->scope = before;
    return GG__FALLS;
}

/* ---- the others ------------------------------------------------------------------------------------------------------------- */

void gg__define(gg__walk *w, TSNode node, gg_str name) {
    bool is_class = gg__node_of(node) == GG__NODE_class_definition;
    gg__value value = {.kind = is_class ? GG__CLASS : GG__FUNCTION, .node = node, .scope = w->frame->scope};
    gg__scope_set(w, w->frame->scope, name, value);
}

static gg_str name_of(gg__walk *w, TSNode definition) {
    return gg__text_of(w, GG__FIELD(w, definition, name));
}

static void walk_decorated(gg__walk *w, TSNode node) {
    TSNode definition = GG__FIELD(w, node, definition);
    gg__nodes parts = gg__children(w->syntax, node);
    bool plain = true;
    for (uint32_t i = 0; i < parts.len; i++) {
        if (gg__node_of(parts.items[i]) != GG__NODE_decorator) continue;
        TSNode name = ts_node_named_child(parts.items[i], 0); /* of what is called, in @torch.compile(dynamic=True) */
        gg__value decorator = gg__eval(w, gg__node_of(name) == GG__NODE_call ? GG__FIELD(w, name, function) : name);
        plain = plain && decorator.kind == GG__DOTTED &&
                (gg_str_starts_with(decorator.path, GG_STR("torch.")) ||
                 gg_str_starts_with(decorator.path, GG_STR("functools.")));
    }
    bool same =
        plain || gg__node_of(definition) == GG__NODE_class_definition; /* a class's decorators return the class */
    if (same)
        gg__define(w, definition, name_of(w, definition));
    else
        gg__scope_set(w, w->frame->scope, name_of(w, definition), gg__of_kind(GG__UNKNOWN));
}

static void walk_assert(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    if (parts.len == 0) return;
    GG__TELL(on_statement, w, node, GG__NODE_assert_statement);
    gg__narrow(w, parts.items[0], true);
}

static void walk_expressions(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__node inner = gg__node_of(parts.items[i]);
        if (inner == GG__NODE_assignment)
            walk_assignment(w, parts.items[i]);
        else if (inner == GG__NODE_augmented_assignment)
            walk_augmented(w, parts.items[i]);
        else
            (void)gg__eval(w, parts.items[i]);
    }
}

static void walk_return(gg__walk *w, TSNode node) {
    TSNode value = ts_node_named_child(node, 0);
    gg__value result = ts_node_is_null(value) ? gg__of_kind(GG__NONE) : gg__eval(w, value);
    w->frame->result = w->frame->returned ? gg__join(w->frame->result, result) : result;
    w->frame->returned = true;
}

static void walk_function(gg__walk *w, TSNode node) {
    gg__define(w, node, name_of(w, node));
}

static void walk_class(gg__walk *w, TSNode node) {
    GG__TELL(on_statement, w, node, GG__NODE_class_definition);
    gg__define(w, node, name_of(w, node));
}

gg__flow gg__walk_statement(gg__walk *w, TSNode node) {
    static gg__flow (*const branching[GG__NODE_COUNT])(gg__walk *w, TSNode node) = {
        [GG__NODE_if_statement] = walk_if,       [GG__NODE_for_statement] = walk_for,
        [GG__NODE_while_statement] = walk_while, [GG__NODE_try_statement] = walk_try,
        [GG__NODE_with_statement] = walk_with,   [GG__NODE_match_statement] = walk_match,
        [GG__NODE_block] = gg__walk_block,
    };
    static void (*const plain[GG__NODE_COUNT])(gg__walk *w, TSNode node) = {
        [GG__NODE_expression_statement] = walk_expressions,
        [GG__NODE_return_statement] = walk_return,
        [GG__NODE_assert_statement] = walk_assert,
        [GG__NODE_function_definition] = walk_function,
        [GG__NODE_class_definition] = walk_class,
        [GG__NODE_decorated_definition] = walk_decorated,
        [GG__NODE_import_statement] = gg__walk_import,
        [GG__NODE_import_from_statement] = gg__walk_import,
        [GG__NODE_future_import_statement] = gg__walk_import,
    };
    gg__node type = gg__node_of(node);
    if (type == GG__NODE_raise_statement || type == GG__NODE_import_statement || type == GG__NODE_import_from_statement)
        GG__TELL(on_statement, w, node, type);
    if (branching[type]) return branching[type](w, node);
    if (plain[type]) plain[type](w, node);
    if (type == GG__NODE_return_statement) return GG__RETURNS;
    if (type == GG__NODE_break_statement || type == GG__NODE_continue_statement) return GG__SKIPS;
    return type == GG__NODE_raise_statement ? GG__RAISES : GG__FALLS;
}

gg__flow gg__walk_block(gg__walk *w, TSNode block) {
    if (!gg__may_go_on(w)) return GG__FALLS;
    gg__touch(w, block);
    gg__nodes statements = gg__children(w->syntax, block);
    gg__flow flow = GG__FALLS;
    w->nesting++;
    for (uint32_t i = 0; i < statements.len && flow == GG__FALLS; i++)
        flow = gg__walk_statement(w, statements.items[i]);
    w->nesting--;
    return flow;
}
