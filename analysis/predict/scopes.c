/* Names and what they stand for. */
#include "analysis/predict/predict.h"

gg__scope *gg__scope_new(gg__walk *w, gg__scope *outer) {
    gg__scope *scope = GG_ARENA_NEW(w->arena, gg__scope);
    scope->outer = outer;
    return scope;
}

gg__scope *gg__scope_copy(gg__walk *w, const gg__scope *scope) {
    gg__scope *copy = gg__scope_new(w, scope->outer);
    copy->len = copy->cap = scope->len;
    copy->items = GG_ARENA_ARRAY(w->arena, gg__binding, copy->cap ? copy->cap : 1);
    if (scope->len) memcpy(copy->items, scope->items, scope->len * sizeof(gg__binding));
    return copy;
}

gg__value *gg__scope_own(const gg__scope *scope, gg_str name) {
    for (uint32_t i = 0; i < scope->len; i++)
        if (gg_str_equal(scope->items[i].name, name)) return &scope->items[i].value;
    return NULL;
}

gg__value *gg__scope_find(const gg__scope *scope, gg_str name) {
    for (; scope; scope = scope->outer) {
        gg__value *found = gg__scope_own(scope, name);
        if (found) return found;
    }
    return NULL;
}

void gg__scope_set(gg__walk *w, gg__scope *scope, gg_str name, gg__value value) {
    gg__value *own = gg__scope_own(scope, name);
    if (own) {
        *own = value;
        return;
    }
    if (scope->len == scope->cap) {
        uint32_t cap = scope->cap ? scope->cap * 2 : 8;
        gg__binding *items = GG_ARENA_ARRAY(w->arena, gg__binding, cap);
        if (scope->len) memcpy(items, scope->items, scope->len * sizeof(gg__binding));
        scope->items = items;
        scope->cap = cap;
    }
    scope->items[scope->len++] = (gg__binding){name, value};
}

/* What holds after either of two ways: a name that only one of them binds is what it was bound to, since it could not be used else. */
void gg__scope_join(gg__walk *w, gg__scope *into, const gg__scope *other) {
    for (uint32_t i = 0; i < into->len; i++) {
        const gg__value *theirs = gg__scope_own(other, into->items[i].name);
        if (theirs) into->items[i].value = gg__join(into->items[i].value, *theirs);
    }
    for (uint32_t i = 0; i < other->len; i++)
        if (gg__scope_own(into, other->items[i].name) == NULL)
            gg__scope_set(w, into, other->items[i].name, other->items[i].value);
}
